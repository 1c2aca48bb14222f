// warmgate simulate: what policies would do for a machine and a number of agents, in virtual time.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "app/advise.h"
#include "app/commands.h"
#include "app/simulate_plan.h"
#include "sim/html_report.h"

namespace wg::app {
namespace {

// One cell of the table: each seed once; of the first also how it went over time. `caches` are, by seed, what the
// policy before left here, and then what this one leaves.
void run_cell(const SimulatePlan& plan, sim::ReportRun& cell, policy::PolicyName policy, std::uint32_t sessions,
              std::vector<std::vector<sim::BlockCache>>& caches, bool keep_caches) {
  for (std::size_t seed = 0; seed < caches.size(); ++seed) {
    sim::LoopRun run = plan.run;
    run.policy = policy;
    run.sessions = sessions;
    run.seed = seed + 1;
    sim::LoopResult result = sim::follow_closed_loop(run, std::move(caches[seed]));
    caches[seed].clear();
    cell.rows.seeds.push_back(result.row);
    if (seed == 0) cell.samples = std::move(result.samples);
    if (keep_caches) caches[seed] = std::move(result.caches);
  }
}

// Policy by policy, in each by number of sessions.
std::vector<sim::ReportRun> run_all(const SimulatePlan& plan, const SimulateWords& words) {
  std::vector<sim::ReportRun> all(plan.policies.size() * plan.sessions.size());
  for (std::size_t step = 0; step < plan.sessions.size(); ++step) {
    std::vector<std::vector<sim::BlockCache>> caches(words.seeds);
    for (std::size_t policy = 0; policy < plan.policies.size(); ++policy) {
      sim::ReportRun& cell = all[policy * plan.sessions.size() + step];
      cell.rows.target = plan.target;
      cell.rows.policy = policy::name_of(plan.policies[policy]);
      cell.rows.sessions = plan.sessions[step];
      run_cell(plan, cell, plan.policies[policy], plan.sessions[step], caches, words.keep_cache);
    }
  }
  return all;
}

sim::ReportPage page_of(const SimulatePlan& plan, const SimulateWords& words, std::vector<sim::ReportRun> runs) {
  sim::ReportPage page;
  page.title = "What each policy would do: " + plan.target;
  page.subtitle = "warmgate simulate: the gateway's own decisions and a model of the engines, in virtual time";
  const sim::EngineSettings& engine = plan.run.preset.engine;
  page.facts = {
      {"Replicas", std::to_string(plan.run.ranks) + " of " + plan.run.preset.model + ", each with " +
                       std::to_string(engine.kv_tokens.count) + " tokens of KV cache and at most " +
                       std::to_string(engine.max_num_seqs) + " turns at once"},
      {"Load", words.workload + (words.think.empty() ? "" : ", think " + words.think) +
                   (words.cap_think.empty() ? "" : ", pauses of at most " + words.cap_think)},
      {"Each step",
       words.step + " of virtual time" + (words.warmup == "0s" ? "" : " behind a warm-up of " + words.warmup) + ", " +
           (words.seeds == 1 ? "one run"
                             : std::to_string(words.seeds) + " runs with other dice: means, and least to most")}};
  page.notes = plan.notes;
  for (std::uint32_t rank = 0; rank < plan.run.ranks; ++rank) page.replicas.push_back("rank " + std::to_string(rank));
  page.runs = std::move(runs);
  return page;
}

int simulate(const SimulateWords& words) {
  const auto plan = plan_of(words);
  if (!plan) {
    std::cerr << "warmgate simulate: " << plan.error().what << '\n';
    return 2;
  }
  for (const std::string& note : plan->notes) std::cerr << "note: " << note << '\n';
  if (words.advise) {
    std::cout << advice_on(*plan, words.kv_dtype == "fp8", words.json) << std::flush;
    return 0;
  }
  std::vector<sim::ReportRun> runs = run_all(*plan, words);
  std::vector<sim::LoopRows> all;
  all.reserve(runs.size());
  for (const sim::ReportRun& run : runs) all.push_back(run.rows);
  std::cout << (words.json ? sim::json_of(all) : sim::table_of(all)) << std::flush;
  if (words.html.empty()) return 0;
  std::ofstream out(words.html, std::ios::binary);
  out << sim::html_of(page_of(*plan, words, std::move(runs))) << std::flush;
  if (out) return 0;
  std::cerr << "warmgate simulate: cannot write " << words.html << '\n';
  return 1;
}

}  // namespace

void add_simulate(CLI::App& app, int& status) {
  auto* const command =
      app.add_subcommand("simulate", "What policies would do for your machine and agents; needs no GPU");
  const auto words = std::make_shared<SimulateWords>();
  command->add_option("--preset", words->preset, "the machine, with -dpN for N replicas of it (a4000-qwen3-4b-dp4)");
  command->add_option("--config", words->config, "the machine as parameters in YAML, instead of a preset");
  command->add_option("--model-config", words->model_config,
                      "config.json of a model (Hugging Face): KV per token and capacity are computed from it");
  command->add_option("--card-memory", words->card_memory, "of one replica's card, with --model-config: 16GiB");
  command->add_option("--card-bandwidth", words->card_bandwidth, "its memory's GB/s (as the preset's card)");
  command->add_option("--card-tflops", words->card_tflops, "its dense TFLOPS (as the preset's card)");
  command->add_option("--utilization", words->utilization, "vLLM's gpu_memory_utilization (0.9)");
  command->add_option("--kv-dtype", words->kv_dtype, "auto (16 bits) or fp8");
  command->add_option("--weights", words->weights, "size of the weights, if config.json does not tell it: 8.05GB");
  command->add_option("--policies", words->policies, std::string(policy::policy_names) + " (off,sticky)");
  command->add_option("--sessions", words->sessions, "clients at a time, one step for each number (4,8,16,24,32)");
  command->add_option("--step", words->step, "how long each is measured, in virtual time (3m)");
  command->add_option("--warmup", words->warmup, "what comes before, and is not counted (0s)");
  command->add_option("--seeds", words->seeds, "runs with other dice; shown are means, least and most (1)")
      ->check(CLI::Range(1, 1000));
  command->add_option("--workload", words->workload, "agent, mix (half agents, half humans) or trace:FILE (agent)");
  command->add_option("--think", words->think, "pause between turns: none, real, or exp:8s (the workload's)");
  command->add_option("--cap-think", words->cap_think, "longer pauses are cut to this: 30s");
  command->add_option("--scale", words->scale, "all lengths times this: 0.125 for a trace of big contexts (1)");
  command->add_option("--spill-threshold", words->spill_threshold, "of sticky: a number of turns in flight (auto)");
  command->add_option("--mode", words->mode, "of warm: " + std::string(policy::warm_mode_names) + " (latency)");
  command->add_option("--without", words->without,
                      "of warm: rules that are taken away, such as price,gate; see docs/policies/warm.md");
  command->add_option(
      "--oracle", words->oracle,
      "of warm: what it is told that nobody can know: gaps (the pause behind each answer), ends (which turn "
      "is the last)");
  command->add_flag("--keep-cache", words->keep_cache,
                    "each policy begins with the caches that the one before it left, and asks the same prompts");
  command->add_flag("--advise", words->advise,
                    "only whether so many sessions fit the caches, by their sizes; nothing is run");
  command->add_flag("--json", words->json, "rows for scripts; with several seeds also their least and most");
  command->add_option("--html", words->html, "a page with charts and all figures is written to this file");
  command->footer(
      "examples:\n"
      "  warmgate simulate\n"
      "  warmgate simulate --advise --sessions 8,16,32\n"
      "  warmgate simulate --sessions 8,16 --policies off,hash,sticky --seeds 5 --html report.html\n"
      "  warmgate simulate --model-config config.json --card-memory 24GiB --card-bandwidth 1008 --card-tflops 165\n"
      "  warmgate simulate --workload mix --sessions 32 --step 10m --warmup 5m\n"
      "  warmgate simulate --workload trace:data/traces/claude-code-sessions.jsonl --scale 0.125 --cap-think 30s\n"
      "  warmgate simulate --preset rtx5090-27b-dp7 --sessions 16,26 --step 10m --json");
  command->callback([words, &status] { status = simulate(*words); });
}

}  // namespace wg::app
