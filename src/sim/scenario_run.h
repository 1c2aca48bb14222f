// Runs a scenario over the virtual driver. Pure; owner: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario.h"

namespace wg::sim {

struct ScenarioResult {
  std::vector<std::string> failures;  // FILE:LINE: what was expected and what came; none: it passed
  std::vector<std::string> log;       // a line for each answer
  std::uint64_t digest = 0;           // of the fleet's commands
};

ScenarioResult run_scenario(const Scenario& scenario, std::uint64_t seed = 1);

}  // namespace wg::sim
