#include "policy/off.h"

#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace wg::policy {

namespace {
ReplicaView scraped(double own, double running, double waiting, std::optional<double> kv) {
  ReplicaView view;
  view.up = true;
  view.in_flight = own;
  view.running = running;
  view.waiting = waiting;
  view.kv_usage = kv;
  return view;
}
}  // namespace

TEST(Off, ScoreIsVllmsFormula) {
  struct Case {
    const char* what;
    double own, running, waiting;
    std::optional<double> kv;
    double score;
  };
  const Case cases[] = {
      {"idle", 0, 0, 0, 0.9, 0},
      {"own counts when the scrape is behind", 5, 1, 1, 0.1, 5},
      {"the scrape counts when others use it too", 1, 4, 2, 0.1, 6},
      {"no surcharge up to half of the KV", 0, 1, 2, 0.5, 3},
      {"three per waiting at a full KV", 0, 1, 2, 1.0, 9},
      {"in between", 0, 1, 2, 0.75, 6},
      {"nothing waits, nothing is added", 0, 8, 0, 1.0, 8},
      {"no gauge, no surcharge", 0, 1, 2, {}, 3},
  };
  for (const Case& c : cases)
    EXPECT_DOUBLE_EQ(vllm_score(scraped(c.own, c.running, c.waiting, c.kv)), c.score) << c.what;
}

TEST(Off, LowestScoreWinsAndEqualsRotate) {
  auto pool = pool_of({{3}, {1}, {2}});
  EXPECT_EQ(off(pool, 0).replica, 1u);
  EXPECT_EQ(off(pool, 2).replica, 1u);
  pool[1].up = false;
  EXPECT_EQ(off(pool, 0).replica, 2u);

  const auto idle = pool_of({{}, {}, {}});
  for (std::uint64_t i = 0; i < 9; ++i) EXPECT_EQ(off(idle, i).replica, i % 3);
}

TEST(Off, ReportsOffAndItsScores) {
  const Decision decision = off(pool_of({{3}, {1}}), 0);
  EXPECT_EQ(decision.route, Route::off);
  ASSERT_EQ(decision.candidates.size(), 2u);
  EXPECT_EQ(decision.candidates[0].in_flight, 3);
}

TEST(Off, NothingUp) {
  EXPECT_EQ(off(pool_of({}), 3).replica, no_replica);
  EXPECT_EQ(off(pool_of({{0, {}, 0, false}}), 3).replica, no_replica);
}

}  // namespace wg::policy
