// Agent sessions in a closed loop over the virtual fleet, and what came out: one row of the reference's table.
// Invariant: same preset, policy, sessions, seed and times give the same row. Owner: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/load.h"
#include "sim/preset.h"
#include "sim/workload.h"

namespace wg::sim {

struct LoopRun {
  Preset preset;
  std::uint32_t ranks = 4;  // of one engine
  policy::PolicyName policy = policy::PolicyName::sticky;
  std::uint32_t sessions = 1;  // at a time; at least 1
  Duration warmup{}, step = std::chrono::minutes(3);
  Think think;
  std::uint64_t seed = 1;
};

// What was measured after the warm-up. Shares are 0..1.
struct LoopRow {
  double sessions_per_hour = 0, output_tokens_per_min = 0;
  double ttfb_p50_s = 0, ttfb_p95_s = 0, ttfb_mean_s = 0;
  double replicas_busy = 0;     // mean over polls, one a second
  double prefix_hit_share = 0;  // hits / queries of the engines
  double stayed_share = 0;      // later turns of a session that went where the one before went
  double session_time_p50_s = 0, session_time_p95_s = 0;
  double wait_p95_s = 0;  // in the gateway, before a turn was sent on
  double preemptions = 0, failures = 0, turns = 0;
  std::uint64_t digest = 0;  // of the fleet's commands
};

LoopRow run_closed_loop(const LoopRun& run);

// The value below which `share` (0..1) of the values lie: the reference's own rule, sorted[floor(n x share)].
// 0 if there is none. Sorts in place.
double quantile(std::vector<double>& values, double share);

}  // namespace wg::sim
