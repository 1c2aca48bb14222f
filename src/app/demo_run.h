// The demo itself: simulated ranks on a thread of their own, the gateway and the agents before them on this one, first
// with one policy and then with none. Owner: the thread that calls run().
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/figures.h"
#include "config/config.h"
#include "sim/preset.h"

namespace wg::app {

struct DemoOptions {
  config::Address listen{"127.0.0.1", 0}, admin{"127.0.0.1", 0};
  sim::Preset preset;
  std::vector<policy::PolicyName> policies;  // one run for each
  std::uint32_t ranks = 4, sessions = 8;
  double speed = 8;   // the modelled machines, and the gateway's clock
  Duration length{};  // of all runs together
  std::uint64_t seed = 1;
  bool show = true;       // the table on stdout
  bool in_place = false;  // ... over itself
};

struct DemoResult {
  std::vector<bench::Row> rows;  // of the runs that began
  bool interrupted = false;
  std::string last_failure;
};

// Until all runs are over, or SIGINT or SIGTERM.
Result<DemoResult> run_demo(const DemoOptions& options);

}  // namespace wg::app
