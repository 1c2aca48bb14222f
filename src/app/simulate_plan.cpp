#include "app/simulate_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "app/workload_words.h"
#include "sim/machine_file.h"
#include "sim/model_config.h"

namespace wg::app {
namespace {

tl::unexpected<Error> wrong(std::string what) { return fail(Fault::client, std::move(what)); }

// A whole number from 1 to `most`, or 0.
std::uint32_t count_of(const std::string& text, std::uint32_t most) {
  if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != text.npos) return 0;
  const unsigned long number = std::stoul(text);
  return number <= most ? static_cast<std::uint32_t>(number) : 0;
}

// NAME-dpN: N ranks of the machine NAME; NAME alone: one.
Result<void> read_preset(SimulatePlan& plan, const std::string& text) {
  std::string name = text;
  plan.run.ranks = 1;
  if (const std::size_t dp = text.rfind("-dp"); dp != text.npos) {
    plan.run.ranks = count_of(text.substr(dp + 3), 999);
    if (plan.run.ranks == 0) return wrong("--preset " + text + ": behind -dp stands the number of replicas, 1 to 999");
    name = text.substr(0, dp);
  }
  auto preset = sim::preset_named(name);
  if (!preset) return wrong("--preset: " + preset.error().what + ", each with -dpN for N replicas");
  plan.run.preset = std::move(*preset);
  plan.target = text;
  return {};
}

Result<std::string> content_of(const char* option, const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.good() && !in.eof()) return wrong(std::string(option) + ": cannot read " + file);
  return text;
}

Result<void> read_machine(SimulatePlan& plan, const std::string& file) {
  const auto text = content_of("--config", file);
  if (!text) return tl::unexpected(text.error());
  auto machine = sim::read_machine(*text);
  if (!machine) return wrong("--config: " + file + ": " + machine.error().what);
  plan.run.preset = std::move(machine->preset);
  plan.run.ranks = machine->replicas;
  plan.target = plan.run.preset.name + "-dp" + std::to_string(plan.run.ranks);
  return {};
}

// Capacity and speeds from a Hugging Face config and a card, in place of the preset's.
Result<void> read_model(SimulatePlan& plan, const SimulateWords& words) {
  if (words.model_config.empty() != words.card_memory.empty())
    return wrong("--model-config and --card-memory go together: the capacity follows from both");
  if (words.model_config.empty()) return {};
  const auto text = content_of("--model-config", words.model_config);
  if (!text) return tl::unexpected(text.error());
  const auto shape = sim::read_model_config(*text);
  if (!shape) return wrong("--model-config: " + words.model_config + ": " + shape.error().what);
  sim::CardUse card;
  const auto memory = sim::size_named(words.card_memory);
  if (!memory) return wrong("--card-memory: " + memory.error().what);
  card.memory_bytes = *memory;
  if (!words.weights.empty()) {
    const auto weights = sim::size_named(words.weights);
    if (!weights) return wrong("--weights: " + weights.error().what);
    card.weight_bytes = *weights;
  }
  if (words.kv_dtype != "auto" && words.kv_dtype != "fp8") return wrong("--kv-dtype must be auto or fp8");
  if (!(words.utilization > 0) || words.utilization > 1) return wrong("--utilization must be above 0 and at most 1");
  if (!(words.card_bandwidth >= 0) || !(words.card_tflops >= 0))
    return wrong("--card-bandwidth and --card-tflops must not be negative");
  card.kv_value_bytes = words.kv_dtype == "fp8" ? 1 : 2;
  card.utilization = words.utilization;
  card.bandwidth = words.card_bandwidth * 1e9;
  card.flops = words.card_tflops * 1e12;
  auto preset = sim::with_model(plan.run.preset, *shape, card);
  if (!preset) return wrong("--model-config: " + words.model_config + ": " + preset.error().what);
  plan.run.preset = std::move(*preset);
  plan.target = plan.run.preset.model + "-dp" + std::to_string(plan.run.ranks);
  char note[240];
  std::snprintf(
      note, sizeof note,
      "%s on %s: %.0f bytes of KV a token, %lld tokens of KV a replica, weights of %.2f GB, a step of %.0f ms, "
      "prefill %.0f tokens/s",
      plan.run.preset.model.c_str(), words.card_memory.c_str(), plan.run.preset.engine.cost.kv_bytes_per_token,
      static_cast<long long>(plan.run.preset.engine.kv_tokens.count), plan.run.preset.card.weight_bytes / 1e9,
      1000 * plan.run.preset.engine.cost.base_s, plan.run.preset.engine.cost.prefill_tokens_per_s);
  plan.notes.emplace_back(note);
  return {};
}

struct RuleWord {
  const char* name;
  bool fleet::WarmRules::* rule;
};
constexpr RuleWord rule_words[] = {{"price", &fleet::WarmRules::price},
                                   {"gate", &fleet::WarmRules::gate},
                                   {"late-binding", &fleet::WarmRules::late_binding},
                                   {"keep-busy", &fleet::WarmRules::keep_busy},
                                   {"move", &fleet::WarmRules::move},
                                   {"wait-for-home", &fleet::WarmRules::wait_for_home},
                                   {"order", &fleet::WarmRules::order},
                                   {"ledger", &fleet::WarmRules::correct_ledger},
                                   {"safety-net", &fleet::WarmRules::safety_net}};

// What is left of `warm`, and what it is told that nobody can know.
Result<void> read_warm(SimulatePlan& plan, const SimulateWords& words) {
  const auto mode = policy::warm_mode_named(words.mode);
  if (!mode) return wrong("--mode: '" + words.mode + "' must be one of " + std::string(policy::warm_mode_names));
  plan.run.rules.mode = *mode;
  if (!words.without.empty())
    for (const std::string& name : list_of(words.without)) {
      const auto* const word =
          std::find_if(std::begin(rule_words), std::end(rule_words), [&](const RuleWord& w) { return name == w.name; });
      if (word == std::end(rule_words)) {
        std::string known;
        for (const RuleWord& one : rule_words) known += (known.empty() ? "" : ", ") + std::string(one.name);
        return wrong("--without: '" + name + "' is no rule of warm; its rules are " + known);
      }
      plan.run.rules.*word->rule = false;
    }
  if (!words.oracle.empty())
    for (const std::string& name : list_of(words.oracle)) {
      if (name != "gaps" && name != "ends") return wrong("--oracle: '" + name + "' must be gaps or ends");
      (name == "gaps" ? plan.run.knows_gaps : plan.run.knows_ends) = true;
    }
  return {};
}

// The longest turn must fit into one replica, or every session would end in an error.
Result<void> check_fit(const SimulatePlan& plan) {
  const sim::Workload& work = *plan.run.work;
  if (work.kind == sim::WorkloadKind::trace) return {};
  const sim::AgentLoad& load = work.load;
  const std::int64_t longest =
      load.head + load.first.high + load.output.high + (load.turns - 1) * (load.added.high + load.output.high);
  const std::int64_t most = plan.run.preset.engine.model_len().count;
  if (longest <= most) return {};
  return wrong("the last turn of a session has up to " + std::to_string(longest) + " tokens, a replica's context is " +
               std::to_string(most) + "; --scale makes sessions shorter");
}

}  // namespace

Result<SimulatePlan> plan_of(const SimulateWords& words) {
  SimulatePlan plan;
  if (!words.preset.empty() && !words.config.empty()) return wrong("--preset and --config: give one of them");
  const auto read = words.config.empty() ? read_preset(plan, words.preset.empty() ? "a4000-qwen3-4b-dp4" : words.preset)
                                         : read_machine(plan, words.config);
  if (!read) return tl::unexpected(read.error());
  if (const auto model = read_model(plan, words); !model) return tl::unexpected(model.error());
  for (const std::string& name : list_of(words.policies)) {
    const auto policy = policy::policy_named(name);
    if (!policy)
      return wrong("--policies: there is no policy '" + name + "'; known are " + std::string(policy::policy_names));
    plan.policies.push_back(*policy);
  }
  for (const std::string& text : list_of(words.sessions)) {
    const std::uint32_t sessions = count_of(text, 99'999);
    if (sessions == 0) return wrong("--sessions: '" + text + "' must be a whole number from 1 to 99999");
    plan.sessions.push_back(sessions);
  }
  const auto step = time_of("--step", words.step, false), warmup = time_of("--warmup", words.warmup, true);
  if (!step) return tl::unexpected(step.error());
  if (!warmup) return tl::unexpected(warmup.error());
  plan.run.step = *step;
  plan.run.warmup = *warmup;
  if (words.spill_threshold != "auto") {
    const std::uint32_t threshold = count_of(words.spill_threshold, 99'999);
    if (threshold == 0)
      return wrong("--spill-threshold: '" + words.spill_threshold + "' must be auto or a number from 1");
    plan.run.spill_threshold = threshold;
  }
  if (const auto warm = read_warm(plan, words); !warm) return tl::unexpected(warm.error());
  auto work = workload_of({words.workload, words.think, words.cap_think, words.scale}, plan.run.preset.load,
                          plan.run.preset.engine.model_len(), plan.notes);
  if (!work) return tl::unexpected(work.error());
  plan.run.work = std::move(*work);
  if (const auto fits = check_fit(plan); !fits) return tl::unexpected(fits.error());
  if (words.keep_cache)
    plan.notes.emplace_back(
        "each policy but the first begins, at each number of sessions, with the caches that the policy before it left "
        "there, and asks the same prompts");
  return plan;
}

}  // namespace wg::app
