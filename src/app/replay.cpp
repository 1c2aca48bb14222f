// warmgate replay: a recording of the live fleet decided once more, or under another policy before modelled engines.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <iterator>

#include "app/commands.h"
#include "app/workload_words.h"
#include "fleet/recording.h"
#include "sim/loop_report.h"
#include "sim/replayed_load.h"

namespace wg::app {
namespace {

struct Given {
  std::string file, policies, preset = "a4000-qwen3-4b";
  std::uint32_t seeds = 1;
  bool json = false;
};

std::string seconds_of(Duration since_start) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", to_seconds(since_start));
  return text;
}

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// ---- the same policy ----

// Where the two first differ.
struct Difference {
  const fleet::RecordedStep* step = nullptr;
  std::string recorded, replayed;
};

void set_difference(Difference& difference, const fleet::RecordedStep& step, const fleet::Commands& commands) {
  difference.step = &step;
  difference.recorded = difference.replayed = "nothing";
  const std::size_t count = std::max(step.decisions.size(), commands.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string recorded = i < step.decisions.size() ? step.decisions[i] : "nothing";
    const std::string replayed = i < commands.size() ? fleet::words_of(commands[i]) : "nothing";
    difference.recorded = recorded, difference.replayed = replayed;
    if (recorded != replayed) return;
  }
  difference.recorded += " (its figures differ)";
}

struct Outcome {
  std::uint64_t events = 0, decided = 0, digest = 0;
  Difference difference;
};

Outcome decide_again(const fleet::Recording& recording) {
  Outcome outcome;
  fleet::Fleet fleet(recording.spec);
  for (const fleet::RecordedStep& step : recording.steps) {
    const fleet::Commands commands = fleet.step(step.event, step.at);
    ++outcome.events;
    if (!commands.empty()) ++outcome.decided;
    const bool same = commands.empty() ? !step.digest : step.digest && *step.digest == fleet.digest();
    if (same) continue;
    set_difference(outcome.difference, step, commands);
    break;
  }
  outcome.digest = fleet.digest();
  return outcome;
}

int same_policy(const fleet::Recording& recording, const Given& given) {
  const Outcome outcome = decide_again(recording);
  const fleet::RecordedStep* const first = outcome.difference.step;
  if (given.json)
    std::cout << "{\"identical\":" << (first ? "false" : "true") << ",\"events\":" << outcome.events
              << ",\"decided\":" << outcome.decided << ",\"digest\":\"" << hex(outcome.digest)
              << "\",\"complete\":" << (recording.has_end && recording.lost == 0 ? "true" : "false")
              << ",\"first_difference\":" << (first ? std::to_string(first->number) : "null") << "}\n";
  if (first) {
    std::cerr << "warmgate replay: event " << first->number << " (line " << first->line << ", at "
              << seconds_of(first->at - recording.steps.front().at)
              << ") is decided differently\n  recorded: " << outcome.difference.recorded
              << "\n  replayed: " << outcome.difference.replayed << '\n';
    return 1;
  }
  if (!given.json)
    std::cout << outcome.events << " events, " << outcome.decided << " with decisions: all decided alike, digest "
              << hex(outcome.digest) << '\n';
  if (recording.lost > 0) {
    std::cerr << "warmgate replay: " << recording.lost << " events were lost behind event " << recording.lost_after
              << ": what came later is not compared\n";
    return 1;
  }
  if (!recording.has_end)
    std::cerr << "warmgate replay: the recording has no end: the gateway still runs, or was killed\n";
  return 0;
}

// ---- other policies ----

int predict(const fleet::Recording& recording, const Given& given, const sim::Preset& preset) {
  const sim::RecordedLoad load = sim::load_of(recording);
  if (load.sessions.empty()) {
    std::cerr << "warmgate replay: " << given.file << " holds no session with an answer\n";
    return 1;
  }
  const sim::LearntEngine engine = sim::learnt_engine(load, preset);
  std::vector<sim::LoopRows> all;
  const auto sessions = static_cast<std::uint32_t>(load.sessions.size());
  all.push_back({"recorded", std::string(policy::name_of(load.policies.front())), sessions, {load.as_it_was}});
  std::uint64_t shortened = 0;
  for (const std::string& name : list_of(given.policies)) {
    sim::LoopRows& rows = all.emplace_back();
    rows.target = "predicted";
    rows.policy = name;
    rows.sessions = sessions;
    for (std::uint32_t seed = 1; seed <= given.seeds; ++seed) {
      const auto replayed = sim::replay_load(load, engine, recording.spec, *policy::policy_named(name), seed);
      rows.seeds.push_back(replayed.row);
      shortened = replayed.shortened;
    }
  }
  if (given.json) {
    std::cout << sim::json_of(all);
    return 0;
  }
  for (const std::string& line : engine.words) std::cout << line << '\n';
  std::cout << '\n'
            << "the first row is what was recorded, the others are predictions of the engine model\n"
            << sim::table_of(all);
  if (load.left_out > 0)
    std::cout << load.left_out << " requests that belong to no session or did not end are left out\n";
  if (shortened > 0) std::cout << shortened << " prompts are longer than the modelled cache and were cut\n";
  if (recording.lost > 0)
    std::cout << "the recording is broken behind event " << recording.lost_after << ": only what came before is used\n";
  return 0;
}

int wrong(const std::string& what) {
  std::cerr << "warmgate replay: " << what << '\n';
  return 2;
}

int replay(const Given& given) {
  const auto preset = sim::preset_named(given.preset);
  if (!preset) return wrong("--preset: " + preset.error().what);
  if (!given.policies.empty())
    for (const std::string& name : list_of(given.policies))
      if (!policy::policy_named(name))
        return wrong("--policy: there is no policy '" + name + "'; known are " + std::string(policy::policy_names));
  std::ifstream file(given.file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return wrong(given.file + " cannot be read");
  const auto recording = fleet::read_recording(text);
  if (!recording) return wrong(given.file + ": " + recording.error().what);
  return given.policies.empty() ? same_policy(*recording, given) : predict(*recording, given, *preset);
}

}  // namespace

void add_replay(CLI::App& app, int& status) {
  auto* const command = app.add_subcommand("replay", "What a recorded gateway decided, once more or by another policy");
  const auto given = std::make_shared<Given>();
  command->add_option("FILE", given->file, "what record.decisions of serve's configuration wrote")->required();
  command->add_option("--policy", given->policies,
                      "what these would have done, with the same sessions: " + std::string(policy::policy_names));
  command->add_option("--preset", given->preset,
                      "the modelled engine, where the recording does not teach it (a4000-qwen3-4b)");
  command->add_option("--seeds", given->seeds, "predictions with other dice; shown are means (1)")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--json", given->json, "rows for scripts");
  command->footer(
      "examples:\n"
      "  warmgate replay decisions.rec                        the same policy: must decide the same\n"
      "  warmgate replay decisions.rec --policy off,sticky    what other policies would have done\n\n"
      "Exit status: 0 fine, 1 it decides differently or events were lost, 2 wrong use or a broken file.\n"
      "docs/replay.md tells what is recorded, and what a prediction is made from.");
  command->callback([given, &status] { status = replay(*given); });
}

}  // namespace wg::app
