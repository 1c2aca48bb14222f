#include "policy/retry.h"

#include <gtest/gtest.h>

#include "policy/least.h"
#include "policy/test_views.h"

namespace wg::policy {

TEST(Retry, Table) {
  struct Case {
    const char* what;
    Failure failure;
    Attempts attempts;
    Again expected;
  };
  const Case cases[] = {
      {"refused", Failure::refused, {}, Again::another_replica},
      {"reset", Failure::reset_before_head, {}, Again::another_replica},
      {"busy", Failure::busy, {}, Again::another_replica},
      {"dead", Failure::engine_dead, {}, Again::another_replica},
      {"time-out", Failure::timed_out, {}, Again::none},
      {"second retry", Failure::busy, {.retries = 1}, Again::another_replica},
      {"no third", Failure::busy, {.retries = 2}, Again::none},
      {"none allowed", Failure::refused, {.max_retries = 0}, Again::none},
      {"stale", Failure::stale_connection, {}, Again::same_replica},
      {"stale is uncounted", Failure::stale_connection, {.retries = 2}, Again::same_replica},
      {"stale on a fresh connection is a reset",
       Failure::stale_connection,
       {.fresh_connection = true},
       Again::another_replica},
      {"and counts", Failure::stale_connection, {.retries = 2, .fresh_connection = true}, Again::none},
      {"stale, and the replica has gone down",
       Failure::stale_connection,
       {.replica_up = false},
       Again::another_replica},
  };
  for (const Case& c : cases) EXPECT_EQ(after(c.failure, c.attempts), c.expected) << c.what;
}

TEST(Retry, PrefersAnotherEngine) {
  // Two engines of two ranks each; rank 0 of the first was tried.
  auto pool = pool_of({{0}, {0}, {5}, {6}});
  pool[0].engine = pool[1].engine = 0;
  pool[2].engine = pool[3].engine = 1;
  const std::vector<ReplicaIndex> tried{0};
  leave_out_tried(pool, tried);
  EXPECT_EQ(least(pool, no_replica).replica, 2u);
}

TEST(Retry, TakesAnotherRankIfNoOtherEngineIsUp) {
  auto pool = pool_of({{0}, {3}, {0, {}, 0, false}});
  pool[0].engine = pool[1].engine = 0;
  pool[2].engine = 1;
  const std::vector<ReplicaIndex> tried{0};
  leave_out_tried(pool, tried);
  EXPECT_EQ(least(pool, no_replica).replica, 1u);
}

TEST(Retry, AfterBothEnginesWereTriedTheirOtherRanksRemain) {
  auto pool = pool_of({{0}, {4}, {0}, {3}});
  pool[0].engine = pool[1].engine = 0;
  pool[2].engine = pool[3].engine = 1;
  const std::vector<ReplicaIndex> tried{0, 2};
  leave_out_tried(pool, tried);
  EXPECT_EQ(least(pool, no_replica).replica, 3u);
}

TEST(Retry, NoneIsLeft) {
  auto pool = pool_of({{0}});
  const std::vector<ReplicaIndex> tried{0};
  leave_out_tried(pool, tried);
  EXPECT_EQ(least(pool, no_replica).replica, no_replica);
}

}  // namespace wg::policy
