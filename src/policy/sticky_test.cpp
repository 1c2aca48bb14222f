#include "policy/sticky.h"

#include <gtest/gtest.h>

#include "policy/test_views.h"

namespace wg::policy {

TEST(Sticky, Table) {
  struct Case {
    const char* what;
    std::vector<ReplicaView> pool;
    StickyAsk ask;
    ReplicaIndex replica;
    Route route;
    bool becomes_home;
  };
  const Case cases[] = {
      {"no home: the least", pool_of({{2}, {1}, {3}}), {}, 1, Route::placed, true},
      {"no home: equals after the cursor", pool_of({{}, {}, {}}), {.last = 1}, 2, Route::placed, true},
      {"home is unknown here", pool_of({{2}, {1}}), {.home = 77}, 1, Route::placed, true},

      {"stays when idle", pool_of({{0}, {0}}), {.home = 1}, 1, Route::sticky, false},
      {"stays though another is emptier", pool_of({{7}, {0}}), {.home = 0}, 0, Route::sticky, false},
      {"stays at exactly N", pool_of({{8}, {0}}), {.home = 0}, 0, Route::sticky, false},
      {"spills one above N", pool_of({{9}, {3}, {2}}), {.home = 0}, 2, Route::spilled, false},
      {"a fraction above N spills", pool_of({{8.25}, {0}}), {.home = 0}, 1, Route::spilled, false},
      {"spills to one at exactly N", pool_of({{9}, {8}}), {.home = 0}, 1, Route::spilled, false},
      {"stays if all others are above N", pool_of({{20}, {9}, {9}}), {.home = 0}, 0, Route::sticky, false},
      {"stays if it is alone", pool_of({{20}}), {.home = 0}, 0, Route::sticky, false},
      {"stays if the others are down", pool_of({{20}, {0, {}, 0, false}}), {.home = 0}, 0, Route::sticky, false},
      {"a spill goes by the cursor too", pool_of({{9}, {1}, {1}}), {.home = 0, .last = 1}, 2, Route::spilled, false},
      {"a spill adopts with rehome", pool_of({{9}, {1}}), {.home = 0, .rehome = true}, 1, Route::spilled, true},
      {"a stay with rehome changes nothing", pool_of({{8}, {1}}), {.home = 0, .rehome = true}, 0, Route::sticky, false},

      {"home is down", pool_of({{0, {}, 0, false}, {3}, {2}}), {.home = 0}, 2, Route::placed, true},
      {"home is down: N does not matter", pool_of({{0, {}, 0, false}, {30}}), {.home = 0}, 1, Route::placed, true},
      {"all are down", pool_of({{0, {}, 0, false}}), {.home = 0}, no_replica, Route::placed, true},

      {"sub-agent: the parent's home", pool_of({{0}, {8}}), {.parent_home = 1}, 1, Route::placed, true},
      {"sub-agent: the parent's is above N", pool_of({{0}, {9}}), {.parent_home = 1}, 0, Route::placed, true},
      {"sub-agent: the parent's is down",
       pool_of({{4}, {0, {}, 0, false}}),
       {.parent_home = 1},
       0,
       Route::placed,
       true},
      {"sub-agent: its own home goes first",
       pool_of({{0}, {0}}),
       {.home = 0, .parent_home = 1},
       0,
       Route::sticky,
       false},

      {"home failed but is up", pool_of({{0}, {3}, {4}}), {.home = 0, .home_failed = true}, 1, Route::spilled, false},
      {"also with rehome",
       pool_of({{0}, {3}}),
       {.home = 0, .rehome = true, .home_failed = true},
       1,
       Route::spilled,
       false},
      {"home failed and is alone", pool_of({{0}}), {.home = 0, .home_failed = true}, no_replica, Route::spilled, false},
  };
  for (const Case& c : cases) {
    const Decision decision = sticky(c.pool, c.ask);
    EXPECT_EQ(decision.replica, c.replica) << c.what;
    EXPECT_EQ(decision.route, c.route) << c.what;
    EXPECT_EQ(decision.becomes_home, c.becomes_home) << c.what;
    EXPECT_STRNE(decision.rule, "") << c.what;
  }
}

TEST(Sticky, EachReplicaIsHeldToItsOwnThreshold) {
  auto pool = pool_of({{5}, {5}});
  pool[0].threshold = 4;
  EXPECT_EQ(sticky(pool, {.home = 0}).replica, 1u);
  pool[1].threshold = 4;
  EXPECT_EQ(sticky(pool, {.home = 0}).replica, 0u);
}

TEST(Sticky, AThresholdOfZeroSpillsFromAnyBusyHome) {
  auto pool = pool_of({{1}, {0}, {1}});
  for (ReplicaView& view : pool) view.threshold = 0;
  EXPECT_EQ(sticky(pool, {.home = 0}).replica, 1u);
  EXPECT_EQ(sticky(pool, {.home = 1}).replica, 1u);
}

TEST(Sticky, ASpillShowsHomeBesideTheOthers) {
  const Decision decision = sticky(pool_of({{3}, {9}, {1}}), {.home = 1});
  ASSERT_EQ(decision.candidates.size(), 3u);
  EXPECT_EQ(decision.candidates[0].replica, 1u);
  EXPECT_EQ(decision.candidates[0].in_flight, 9);
}

TEST(AutoThreshold, AQuarterRoundedUp) {
  const std::pair<std::optional<std::uint32_t>, std::uint32_t> cases[] = {
      {{}, 8}, {0u, 1}, {1u, 1},  {2u, 1},   {4u, 1},    {5u, 2},
      {6u, 2}, {8u, 2}, {32u, 8}, {64u, 16}, {256u, 64}, {~0u, 1u << 30}};
  for (const auto& [limit, threshold] : cases) EXPECT_EQ(auto_threshold(limit, 8), threshold) << limit.value_or(0);
}

}  // namespace wg::policy
