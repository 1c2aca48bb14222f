#include "policy/least.h"

#include <gtest/gtest.h>

#include <cmath>

#include "policy/test_views.h"

namespace wg::policy {

struct LeastCase {
  const char* what;
  std::vector<ReplicaView> pool;
  ReplicaIndex last, expected;
};

TEST(Least, Table) {
  const LeastCase cases[] = {
      {"nothing there", pool_of({}), no_replica, no_replica},
      {"nothing up", pool_of({{0, 0.1, 0, false}, {0, 0.1, 0, false}}), no_replica, no_replica},
      {"in flight goes first", pool_of({{2, 0.0, 0}, {1, 0.9, 9}}), no_replica, 1},
      {"a fraction in flight counts", pool_of({{0.5}, {0.25}, {0.75}}), no_replica, 1},
      {"then KV", pool_of({{1, 0.55, 0}, {1, 0.31, 9}}), no_replica, 1},
      {"KV within one tenth is equal", pool_of({{1, 0.39, 3}, {1, 0.31, 4}}), no_replica, 0},
      {"then active sessions", pool_of({{1, 0.3, 5}, {1, 0.3, 4}}), no_replica, 1},
      {"equal: the first at first", pool_of({{}, {}, {}}), no_replica, 0},
      {"equal: the next after the last", pool_of({{}, {}, {}}), 0, 1},
      {"equal: round the end", pool_of({{}, {}, {}}), 2, 0},
      {"the cursor skips those that are down", pool_of({{}, {0, {}, 0, false}, {}}), 0, 2},
      {"the cursor decides among equals only", pool_of({{0}, {3}, {0}}), 0, 2},
      {"a worse one is not taken for its turn", pool_of({{0}, {1}}), 0, 0},
      {"one gauge is missing: KV is left out for all", pool_of({{1, 0.9, 1}, {1, 0.1, 2}, {1, {}, 3}}), no_replica, 0},
      {"also if that one is down", pool_of({{1, 0.9, 1}, {1, 0.1, 2}, {0, {}, 0, false}}), no_replica, 0},
      {"not a number is no gauge", pool_of({{1, 0.9, 1}, {1, std::nan(""), 2}}), no_replica, 0},
  };
  for (const LeastCase& c : cases) EXPECT_EQ(least(c.pool, c.last).replica, c.expected) << c.what;
}

TEST(Least, LeavesOutWhatItIsTold) {
  EXPECT_EQ(least(pool_of({{0}, {5}}), no_replica, 0).replica, 1u);
  EXPECT_EQ(least(pool_of({{0}}), no_replica, 0).replica, no_replica);
}

TEST(Least, EqualsTakeTurns) {
  const auto pool = pool_of({{}, {}, {}, {}});
  std::vector<int> times(4);
  ReplicaIndex last = no_replica;
  for (int i = 0; i < 40; ++i) ++times[last = least(pool, last).replica];
  EXPECT_EQ(times, std::vector<int>(4, 10));
}

TEST(Least, ShowsTheFiguresItCompared) {
  const Decision decision = least(pool_of({{1.5, 0.62, 4}, {2, 0.1, 1}, {0, 0.0, 0, false}}), no_replica);
  ASSERT_EQ(decision.candidates.size(), 2u);
  EXPECT_EQ(decision.candidates[0].replica, 0u);
  EXPECT_EQ(decision.candidates[0].in_flight, 1.5);
  EXPECT_EQ(decision.candidates[0].kv_step, 6);
  EXPECT_EQ(decision.candidates[0].active_sessions, 4);
  EXPECT_EQ(least(pool_of({{1, {}, 0}}), no_replica).candidates[0].kv_step, -1);
}

TEST(KvStep, TenthsWithTheirLowerEdge) {
  const std::pair<double, double> cases[] = {{-1, 0},        {0, 0},       {0.0999, 0}, {0.1, 1}, {0.3, 3}, {0.7, 7},
                                             {0.1 + 0.2, 3}, {1 - 0.3, 7}, {0.99, 9},   {1, 10},  {1.7, 10}};
  for (const auto& [usage, step] : cases) EXPECT_EQ(kv_step(usage), step) << usage;
}

}  // namespace wg::policy
