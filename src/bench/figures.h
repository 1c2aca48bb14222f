// From what a load has seen to the figures that are compared: one row of `--json`, as docs fix it. All times are those
// of the modelled machine: real ones times the time scale. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/measured.h"
#include "sim/closed_loop.h"

namespace wg::bench {

// Empty: nothing was seen that could tell.
struct Row {
  std::string target, policy;
  std::uint32_t sessions = 0;
  double sessions_per_hour = 0, output_tokens_per_min = 0;
  std::optional<double> ttfb_p50_s, ttfb_p95_s, ttfb_mean_s;  // to the first content
  std::optional<double> replicas_busy;
  std::optional<double> prefix_hit_share;  // 0..1, of the prompt tokens
  std::optional<double> stayed_share;      // 0..1, of the turns behind a session's first
  std::optional<double> session_time_p50_s, session_time_p95_s;
  std::optional<double> wait_p95_s;  // in the gateway
  std::optional<std::uint64_t> preemptions;
  std::uint64_t failures = 0, turns = 0;
};

// The names and the optional values; rates are per time of the modelled machine.
Row figures(const Measured& measured, double time_scale);

// The same as the simulator's rows, so that one report shows both; NaN where nothing was seen. Turns: the failed ones
// too.
sim::LoopRow loop_row(const Row& row);

// {"target":...,...} with null for what is empty.
std::string json_of(const Row& row);

// The value below which that share (0..1) of them lies, as the simulator counts it: sorted[floor(n x share)]. Empty
// without values.
std::optional<double> quantile(std::vector<double> values, double share);

}  // namespace wg::bench
