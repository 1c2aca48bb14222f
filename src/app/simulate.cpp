// warmgate simulate: what policies would do for a machine and a number of agents, in virtual time.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "app/commands.h"
#include "sim/loop_report.h"

namespace wg::app {
namespace {

struct Given {
  std::string preset = "a4000-qwen3-4b-dp4", policies = "off,sticky", sessions = "4,8,16,24,32";
  std::string step = "3m", warmup = "0s", think;
  std::uint32_t seeds = 1;
  bool json = false;
};

struct Plan {
  sim::LoopRun run;  // without policy, sessions and seed
  std::vector<policy::PolicyName> policies;
  std::vector<std::uint32_t> sessions;
};

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> list(1);
  for (const char c : text)
    if (c == ',')
      list.emplace_back();
    else
      list.back() += c;
  return list;
}

// NAME-dpN: N ranks of the machine NAME; NAME alone: one.
Result<void> read_preset(Plan& plan, const std::string& text) {
  std::string name = text;
  plan.run.ranks = 1;
  const std::size_t dp = text.rfind("-dp");
  if (dp != text.npos) {
    const std::string ranks = text.substr(dp + 3);
    if (ranks.empty() || ranks.size() > 3 || ranks.find_first_not_of("0123456789") != ranks.npos ||
        std::stoi(ranks) == 0)
      return fail(Fault::client, "--preset " + text + ": behind -dp stands the number of replicas, 1 to 999");
    name = text.substr(0, dp);
    plan.run.ranks = static_cast<std::uint32_t>(std::stoul(ranks));
  }
  auto preset = sim::preset_named(name);
  if (!preset) return fail(Fault::client, "--preset: " + preset.error().what + ", each with -dpN for N replicas");
  plan.run.preset = std::move(*preset);
  return {};
}

Result<Duration> time_of(const char* option, const std::string& text, bool may_be_zero) {
  auto time = sim::duration_named(text);
  if (!time) return fail(Fault::client, std::string(option) + ": " + time.error().what);
  if (!may_be_zero && time->count() == 0)
    return fail(Fault::client, std::string(option) + " must be longer than nothing");
  return time;
}

Result<Plan> plan_of(const Given& given) {
  Plan plan;
  if (const auto read = read_preset(plan, given.preset); !read) return tl::unexpected(read.error());
  for (const std::string& name : list_of(given.policies)) {
    const auto policy = policy::policy_named(name);
    if (!policy)
      return fail(Fault::client,
                  "--policies: there is no policy '" + name + "'; known are " + std::string(policy::policy_names));
    plan.policies.push_back(*policy);
  }
  for (const std::string& text : list_of(given.sessions)) {
    const bool is_number = !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
    if (!is_number || std::stoul(text) == 0)
      return fail(Fault::client, "--sessions: '" + text + "' must be a whole number from 1 to 99999");
    plan.sessions.push_back(static_cast<std::uint32_t>(std::stoul(text)));
  }
  const auto step = time_of("--step", given.step, false), warmup = time_of("--warmup", given.warmup, true);
  if (!step) return tl::unexpected(step.error());
  if (!warmup) return tl::unexpected(warmup.error());
  plan.run.step = *step;
  plan.run.warmup = *warmup;
  if (!given.think.empty()) {
    const auto think = sim::think_named(given.think);
    if (!think) return fail(Fault::client, "--think: " + think.error().what);
    plan.run.think = *think;
  }
  return plan;
}

int simulate(const Given& given) {
  const auto plan = plan_of(given);
  if (!plan) {
    std::cerr << "warmgate simulate: " << plan.error().what << '\n';
    return 2;
  }
  std::vector<sim::LoopRows> all;
  for (const auto policy : plan->policies)
    for (const std::uint32_t sessions : plan->sessions) {
      sim::LoopRows& rows = all.emplace_back();
      rows.target = given.preset;
      rows.policy = policy::name_of(policy);
      rows.sessions = sessions;
      for (std::uint32_t seed = 1; seed <= given.seeds; ++seed) {
        sim::LoopRun run = plan->run;
        run.policy = policy;
        run.sessions = sessions;
        run.seed = seed;
        rows.seeds.push_back(sim::run_closed_loop(run));
      }
    }
  std::cout << (given.json ? sim::json_of(all) : sim::table_of(all));
  return 0;
}

}  // namespace

void add_simulate(CLI::App& app, int& status) {
  auto* const command =
      app.add_subcommand("simulate", "What policies would do for your machine and agents; needs no GPU");
  const auto given = std::make_shared<Given>();
  command->add_option("--preset", given->preset, "the machine, with -dpN for N replicas of it (a4000-qwen3-4b-dp4)");
  command->add_option("--policies", given->policies, std::string(policy::policy_names) + " (off,sticky)");
  command->add_option("--sessions", given->sessions, "agents at a time, one step for each number (4,8,16,24,32)");
  command->add_option("--step", given->step, "how long each is measured, in virtual time (3m)");
  command->add_option("--warmup", given->warmup, "what comes before, and is not counted (0s)");
  command->add_option("--seeds", given->seeds, "runs with other dice; shown are means (1)")->check(CLI::Range(1, 1000));
  command->add_option("--think", given->think, "pause between turns: none, or exp:8s (the preset's)");
  command->add_flag("--json", given->json, "rows for scripts; with several seeds also their least and most");
  command->footer(
      "examples:\n"
      "  warmgate simulate\n"
      "  warmgate simulate --sessions 8,16 --policies off,hash,sticky --seeds 5\n"
      "  warmgate simulate --preset rtx5090-27b-dp7 --sessions 16,26 --step 10m --json");
  command->callback([given, &status] { status = simulate(*given); });
}

}  // namespace wg::app
