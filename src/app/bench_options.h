// From the words of `warmgate bench`'s command line to a plan, or to what is wrong with them. Pure but for the
// environment variable that holds a key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/run.h"

namespace wg::app {

struct BenchWords {
  std::vector<std::string> urls, admins, engines;
  std::string compare, sessions = "8", step = "3m", warmup = "30s", think, workload = "agent", cap_think;
  std::string preset = "a4000-qwen3-4b", dialect = "openai", model, api_key_env, session_header, html;
  std::uint32_t seeds = 1;
  std::int64_t context = 0;
  double time_scale = 1, scale = 1;
  bool reset_prefix_cache = false, ignore_eos = false, json = false;
};

Result<bench::BenchPlan> bench_plan(const BenchWords& words);

}  // namespace wg::app
