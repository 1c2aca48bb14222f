// What `warmgate simulate` was asked to do, checked: machine, load, policies, steps. Start-up only.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "sim/closed_loop.h"

namespace wg::app {

struct SimulateWords {
  std::string preset, policies = "off,sticky", sessions = "4,8,16,24,32";
  std::string step = "3m", warmup = "0s", think, workload = "agent", cap_think, spill_threshold = "auto", html;
  std::string mode = "latency", without, oracle;  // of warm
  std::string config, model_config, card_memory, weights, kv_dtype = "auto";
  double scale = 1, utilization = 0.9, card_bandwidth = 0, card_tflops = 0;  // card: GB/s; 0: as the preset's
  std::uint32_t seeds = 1;
  bool json = false, keep_cache = false, advise = false;
};

struct SimulatePlan {
  sim::LoopRun run;  // without policy, sessions and seed
  std::string target;
  std::vector<policy::PolicyName> policies;
  std::vector<std::uint32_t> sessions;
  std::vector<std::string> notes;  // what somebody who reads the figures must know
};

// The error is one line for people.
Result<SimulatePlan> plan_of(const SimulateWords& words);

}  // namespace wg::app
