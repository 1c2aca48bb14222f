// Sessions in a closed loop over the virtual fleet, and what came out: one row of the reference's table, and how it
// went over time. Invariant: same machine, load, policy, sessions, seed, times and caches give the same. Owner: one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/warm_rules.h"
#include "policy/load.h"
#include "sim/block_cache.h"
#include "sim/model_engine.h"
#include "sim/preset.h"
#include "sim/workload.h"

namespace wg::sim {

struct LoopRun {
  Preset preset;
  std::uint32_t ranks = 4;  // of one engine
  policy::PolicyName policy = policy::PolicyName::sticky;
  std::uint32_t sessions = 1;  // at a time; at least 1
  Duration warmup{}, step = std::chrono::minutes(3);
  std::optional<Workload> work;                  // empty: agents as the preset's
  std::optional<std::uint32_t> spill_threshold;  // of sticky; empty: auto
  fleet::WarmRules rules;                        // of warm
  bool knows_gaps = false, knows_ends = false;   // oracles: of each answer the pause behind it; which turn is the last
  std::uint64_t seed = 1;
  Tells tells = {};  // the engine, of itself
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

// What was seen at one poll, a second of virtual time after the one before; tokens since then.
struct LoopSample {
  double at_s = 0;  // since the measuring began
  std::uint32_t busy = 0;
  double cached_tokens = 0, computed_tokens = 0;  // of prompts, by first tokens
  std::vector<double> kv_usage;                   // 0..1, by rank
};

struct LoopResult {
  LoopRow row;
  std::vector<LoopSample> samples;
  std::vector<BlockCache> caches;  // as the run left them, by rank
};

// `warm`: caches that an earlier run of the same machine left, by rank; none: cold.
LoopResult follow_closed_loop(const LoopRun& run, std::vector<BlockCache> warm = {});
LoopRow run_closed_loop(const LoopRun& run);

// The value below which `share` (0..1) of the values lie: the reference's own rule, sorted[floor(n x share)].
// 0 if there is none. Sorts in place.
double quantile(std::vector<double>& values, double share);

}  // namespace wg::sim
