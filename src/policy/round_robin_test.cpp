#include "policy/round_robin.h"

#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace wg::policy {

TEST(RoundRobin, Table) {
  struct Case {
    const char* what;
    std::vector<ReplicaView> pool;
    ReplicaIndex last, expected;
  };
  const Case cases[] = {
      {"nothing there", pool_of({}), no_replica, no_replica},
      {"nothing up", pool_of({{0, {}, 0, false}}), no_replica, no_replica},
      {"starts with the first", pool_of({{9}, {0}}), no_replica, 0},
      {"goes on, whatever the load", pool_of({{0}, {9}, {0}}), 0, 1},
      {"round the end", pool_of({{9}, {0}}), 1, 0},
      {"skips those that are down", pool_of({{}, {0, {}, 0, false}, {}}), 0, 2},
      {"the last one is gone from the table", pool_of({{}, {}}), 7, 0},
  };
  for (const Case& c : cases) EXPECT_EQ(round_robin(c.pool, c.last).replica, c.expected) << c.what;
}

TEST(RoundRobin, DoesNotNeedTheTableInOrder) {
  auto pool = pool_of({{}, {}, {}});
  std::swap(pool[0], pool[2]);
  ReplicaIndex last = no_replica;
  for (ReplicaIndex i = 0; i < 9; ++i) EXPECT_EQ(last = round_robin(pool, last).replica, i % 3);
}

TEST(RoundRobin, ReportsPlaced) { EXPECT_EQ(round_robin(pool_of({{}}), no_replica).route, Route::placed); }

}  // namespace wg::policy
