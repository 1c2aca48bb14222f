// warmgate bench: agents against real servers, and what came of it.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "app/bench_options.h"
#include "app/commands.h"
#include "bench/report.h"

namespace wg::app {
namespace {

constexpr int interrupted_status = 130;  // as shells call a command that SIGINT ended

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

bench::BenchResult run(const bench::BenchPlan& plan) {
  net::Loop loop;
  bench::Progress progress(true, isatty(STDERR_FILENO) != 0);
  bench::Bench bench(loop, plan, progress, [&loop] { loop.stop(); });
  bool asked_to_end = false;
  // First: what is under way is broken off and shown. Second: the end at once.
  const net::Signals signals(loop, [&](int) {
    if (asked_to_end) return loop.stop();
    asked_to_end = true;
    bench.interrupt();
  });
  bench.start();
  loop.run();
  return std::move(bench.result());
}

int status_of(const bench::BenchResult& result) {
  if (!result.error.empty()) std::cerr << "warmgate bench: " << result.error << '\n';
  if (!result.error.empty()) return 1;
  if (result.interrupted) return interrupted_status;
  if (result.asked == 0) {
    std::cerr << "warmgate bench: no turn ended in the time given; a longer --step is needed\n";
    return 1;
  }
  if (bench::failed_share(result) <= bench::failures_allowed) return 0;
  std::cerr << "warmgate bench: more than 5 % of the turns failed; the last: " << result.last_failure << '\n';
  return 1;
}

bool write_page(const std::string& file, const std::string& page) {
  std::ofstream out(file, std::ios::binary);
  out << page << std::flush;
  if (!out) std::cerr << "warmgate bench: cannot write " << file << '\n';
  return static_cast<bool>(out);
}

int bench_command(const BenchWords& words) try {
  const auto plan = bench_plan(words);
  if (!plan) {
    std::cerr << "warmgate bench: " << plan.error().what << '\n';
    return 2;
  }
  raise_descriptor_limit();
  const bench::BenchResult result = run(*plan);
  const bool anything = result.error.empty() || !result.runs.empty();
  if (anything) std::cout << (words.json ? bench::json_of(result, *plan) : bench::text_of(result, *plan)) << std::flush;
  const bool written = words.html.empty() || !anything || write_page(words.html, bench::html_of(result, *plan));
  const int status = status_of(result);
  return written || status != 0 ? status : 1;
} catch (const std::exception& error) {
  std::cerr << "warmgate bench: " << error.what() << '\n';
  return 1;
}

}  // namespace

void add_bench(CLI::App& app, int& status) {
  auto* const command =
      app.add_subcommand("bench", "Agents against real servers: one policy or gateway beside the other");
  const auto words = std::make_shared<BenchWords>();
  command->add_option("--url", words->urls, "[NAME=]URL of a server, without /v1; repeatable: run one after the other");
  command->add_option("--admin", words->admins, "[NAME=]URL of a warmgate's admin address: its policy and engines");
  command->add_option("--engine", words->engines,
                      "[NAME=]URL of an engine behind a target that has no --admin: its counters are read");
  command->add_option("--compare", words->compare, "policies, one run each: " + std::string(policy::policy_names));
  command->add_option("--sessions", words->sessions, "agents at a time, one step for each number (8)");
  command->add_option("--step", words->step, "how long each is measured (3m)");
  command->add_option("--warmup", words->warmup, "what comes before, and is not counted (30s)");
  command->add_option("--seeds", words->seeds, "runs with other dice; shown are means (1)")->check(CLI::Range(1, 1000));
  command->add_option("--think", words->think, "pause between turns: none, exp:8s, or real (the workload's)");
  command->add_option("--workload", words->workload, "agent (default), mix of agents and humans, or trace:FILE");
  command->add_option("--preset", words->preset, "... of the agents of that machine (a4000-qwen3-4b)");
  command->add_option("--scale", words->scale, "prompts and answers so many times as long (1)")
      ->check(CLI::Range(0.001, 100.0));
  command->add_option("--cap-think", words->cap_think, "no pause between turns is longer");
  command
      ->add_option("--context", words->context, "longest prompt and answer of a trace's turn, in tokens (the preset's)")
      ->check(CLI::Range(1, 100'000'000));
  command->add_option("--dialect", words->dialect, "openai (chat completions, default) or anthropic (messages)");
  command->add_option("--model", words->model, "the model's name (the first of /v1/models)");
  command->add_option("--api-key-env", words->api_key_env, "environment variable with the key to send");
  command->add_option("--session-header", words->session_header, "header that carries the session's name");
  command->add_flag("--ignore-eos", words->ignore_eos, "asks for answers of full length (vLLM, llama.cpp)");
  command->add_flag("--reset-prefix-cache", words->reset_prefix_cache,
                    "empties the engines' caches before each run (vLLM: VLLM_SERVER_DEV_MODE=1)");
  command
      ->add_option("--time-scale", words->time_scale,
                   "the targets run so many times faster (serve --time-scale, replica --speed)")
      ->check(CLI::Range(0.01, 1000.0));
  command->add_flag("--json", words->json, "rows for scripts; with several seeds also their least and most");
  command->add_option("--html", words->html, "a report with charts, in one file");
  command->footer(
      "examples:\n"
      "  warmgate bench --url http://127.0.0.1:8080 --admin http://127.0.0.1:8081 --compare off,sticky --sessions 4,8\n"
      "  warmgate bench --url http://127.0.0.1:8000 --sessions 16 --step 5m --reset-prefix-cache\n"
      "  warmgate bench --url ours=http://127.0.0.1:8080 --url theirs=http://127.0.0.1:9000 --engine "
      "http://gpu1:8000\n\n"
      "Ctrl-C ends it and shows what was measured; exit status 130. Else: 0 fine, 1 a target could not be reached or\n"
      "more than 5 % of the turns failed, 2 wrong use. docs/bench.md tells what each figure is.");
  command->callback([words, &status] { status = bench_command(*words); });
}

}  // namespace wg::app
