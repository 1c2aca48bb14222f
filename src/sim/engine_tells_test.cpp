// What `warm` makes of engines that tell too much of themselves, or too little, in whole runs.
#include <gtest/gtest.h>

#include "sim/closed_loop.h"

namespace wg::sim {

namespace {
LoopRow row_of(Tells tells, bool safety_net = true, bool prefix_caching = true) {
  LoopRun run;
  run.preset = *preset_named("a4000-qwen3-4b");
  run.preset.engine.prefix_caching = prefix_caching;
  run.policy = policy::PolicyName::warm;
  run.sessions = 24;
  run.warmup = std::chrono::minutes(10);
  run.step = std::chrono::minutes(10);
  run.tells = tells;
  run.rules.safety_net = safety_net;
  const LoopRow row = run_closed_loop(run);
  std::printf("size told x %.1f, cached tokens %s, net %s: %5.0f tok/min, p50 %5.2f s, p95 %5.1f s, hits %.0f%%\n",
              tells.kv_times, tells.cached ? "told" : "not told", safety_net ? "on" : "off", row.output_tokens_per_min,
              row.ttfb_p50_s, row.ttfb_p95_s, 100 * row.prefix_hit_share);
  return row;
}
}  // namespace

TEST(EngineTells, TheSafetyNetCostsNothingWhereTheTruthIsTold) {
  const LoopRow with = row_of({}), without = row_of({}, false);
  EXPECT_EQ(with.digest, without.digest);
}

TEST(EngineTells, ASizeThatIsToldTwiceIsFoundOut) {
  const LoopRow truth = row_of({}), with = row_of({.kv_times = 2}), without = row_of({.kv_times = 2}, false);
  EXPECT_GT(with.output_tokens_per_min, 1.1 * without.output_tokens_per_min);
  EXPECT_GT(with.output_tokens_per_min, 0.9 * truth.output_tokens_per_min);
}

TEST(EngineTells, ASizeThatIsNotToldIsLearnt) {
  const LoopRow truth = row_of({}), learnt = row_of({.kv_times = 0});
  EXPECT_GT(learnt.output_tokens_per_min, 0.9 * truth.output_tokens_per_min);
}

TEST(EngineTells, CountersStandInForWhatAnswersDoNotTell) {
  const LoopRow truth = row_of({}), counted = row_of({.cached = false});
  EXPECT_GT(counted.output_tokens_per_min, 0.85 * truth.output_tokens_per_min);
}

TEST(EngineTells, WithoutAPrefixCacheTurnsGoByLoad) {
  const LoopRow row = row_of({}, true, false);
  EXPECT_EQ(row.prefix_hit_share, 0);
  EXPECT_EQ(row.failures, 0);
  LoopRun least;
  least.preset = *preset_named("a4000-qwen3-4b");
  least.preset.engine.prefix_caching = false;
  least.policy = policy::PolicyName::least;
  least.sessions = 24;
  least.warmup = least.step = std::chrono::minutes(10);
  EXPECT_GT(row.output_tokens_per_min, 0.97 * run_closed_loop(least).output_tokens_per_min);
}

}  // namespace wg::sim
