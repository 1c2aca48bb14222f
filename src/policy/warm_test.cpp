#include "policy/warm.h"

#include <gtest/gtest.h>

#include "core/rng.h"

namespace wg::policy {

namespace {
// Replica i of a pool in which a seat of 10k tokens fits everywhere.
std::vector<WarmView> pool_of(std::size_t size) {
  std::vector<WarmView> pool(size);
  for (std::size_t i = 0; i < size; ++i) {
    pool[i].replica = static_cast<ReplicaIndex>(i);
    pool[i].up = true;
    pool[i].prefill_s = 2;
    pool[i].crowd_s = 0.5;
    pool[i].need = {10'000};
    pool[i].room = {30'000};
  }
  return pool;
}
WarmView full(WarmView view) {
  view.room = {5'000};
  view.seated = view.in_flight = 3;
  view.is_empty = false;
  return view;
}
}  // namespace

TEST(Warm, TakesTheCheapest) {
  auto pool = pool_of(3);
  EXPECT_EQ(warm(pool, {}).replica, 0u) << "equals: the lower index";
  pool[0].backlog_s = 1;
  EXPECT_EQ(warm(pool, {}).replica, 1u) << "backlog";
  pool[2].prefill_s = 0.5;
  EXPECT_EQ(warm(pool, {}).replica, 2u) << "what is cached";
  pool[2].seated = 2;
  EXPECT_EQ(warm(pool, {}).replica, 1u) << "a crowd slows all turns of a seat";
  pool[1].up = false;
  EXPECT_EQ(warm(pool, {}).replica, 0u) << "down";
}

TEST(Warm, WhatOnlyALargerCacheHoldsIsNotForcedIntoASmallOne) {
  auto pool = pool_of(2);
  for (WarmView& view : pool) view.need = {40'000}, view.is_empty = true;
  pool[0].capacity = pool[0].room = {30'000};
  pool[1].capacity = pool[1].room = {60'000};
  WarmAsk ask;
  ask.largest_cache = {60'000};
  EXPECT_EQ(warm(pool, ask).replica, 1u);
  pool[1] = full(pool[1]);
  EXPECT_EQ(warm(pool, ask).replica, no_replica) << "the large one is worth waiting for";
  for (WarmView& view : pool) view.need = {70'000};
  EXPECT_EQ(warm(pool, ask).replica, 0u) << "none holds it";
}

TEST(Warm, SaysWhyAReplicaCannotTakeIt) {
  auto pool = pool_of(6);
  pool[1].up = false;
  pool[2].is_suspected = true;
  pool[3].unread = most_unread;
  pool[4] = full(pool[4]);
  pool[5].need = {40'000}, pool[5].is_empty = true, pool[5].capacity = {30'000};
  const WarmAsk ask{.largest_cache = {60'000}};
  const std::vector<std::string_view> words{"",
                                            "down, or it failed there",
                                            "it may be dying",
                                            "enough is unread there",
                                            "no room",
                                            "larger than its cache, and another is not"};
  const Decision decision = warm(pool, ask);
  for (std::size_t i = 0; i < pool.size(); ++i) {
    EXPECT_EQ(decision.candidates[i].why_not, words[i]);
    EXPECT_EQ(decision.candidates[i].may_take, words[i].empty());
    EXPECT_EQ(decision.candidates[i].need, pool[i].need);
    EXPECT_EQ(decision.candidates[i].unread, pool[i].unread);
  }
}

// Whatever the rules of admission are, a glance must not turn away whom they would let in.
TEST(Warm, AGlanceNeverCallsHopelessWhatMayBeAdmitted) {
  Rng rng(7);
  int hopeless = 0;
  for (int i = 0; i < 200'000; ++i) {
    WarmView view;
    view.up = true;
    view.in_flight = static_cast<std::uint32_t>(rng.between(0, 4));
    view.unread = static_cast<std::uint32_t>(rng.between(0, std::min<std::int64_t>(view.in_flight, 3)));
    view.is_empty = view.in_flight == 0 && rng.uniform() < 0.5;
    view.need = {rng.between(1, 20'000)};
    view.room = {rng.between(-5'000, 20'000)};
    view.leaving = {view.in_flight > 0 ? rng.between(0, 10'000) : 0};
    view.displaced_s = rng.uniform() * 3;
    view.expected_back_s = rng.uniform() < 0.5 ? 0 : rng.uniform() * 10;
    const WarmGlance glance{view.in_flight, view.unread, Tokens{rng.between(1, view.need.count)}, view.room,
                            view.leaving};
    if (!is_hopeless(glance)) continue;
    ++hopeless;
    ASSERT_EQ(admission(view, {}), Admission::no);
  }
  EXPECT_GT(hopeless, 10'000);
}

TEST(Warm, ThePriceIsTheSumOfItsTerms) {
  auto pool = pool_of(1);
  pool[0].backlog_s = 1;
  pool[0].in_flight = 1;
  pool[0].seated = 2;
  const Decision decision = warm(pool, {});
  ASSERT_EQ(decision.candidates.size(), 1u);
  const Candidate& c = decision.candidates[0];
  EXPECT_DOUBLE_EQ(c.crowd_s, 3 * 0.5 * 2);
  EXPECT_DOUBLE_EQ(c.cost_s, c.backlog_s + c.prefill_s + c.crowd_s + c.displaced_s);
}

TEST(Warm, MovesOnlyForAGain) {
  auto pool = pool_of(2);
  const WarmAsk ask{.home = 0, .reread_s = 4};
  pool[0].prefill_s = 0.1;
  pool[0].backlog_s = 3.5;
  EXPECT_EQ(warm(pool, ask).replica, 0u) << "1.6 s are less than half of reading it again";
  EXPECT_EQ(warm(pool, ask).route, Route::sticky);
  pool[0].backlog_s = 6;
  EXPECT_EQ(warm(pool, ask).replica, 1u);
  EXPECT_EQ(warm(pool, ask).route, Route::moved);
  EXPECT_TRUE(warm(pool, ask).becomes_home);
  EXPECT_EQ(warm(pool, {.home = 0, .reread_s = 4, .may_move = false}).replica, 0u);
}

TEST(Warm, WaitsForAFullHomeForAsLongAsReadingElsewhereTakesLonger) {
  auto pool = pool_of(2);
  pool[0] = full(pool[0]);
  pool[0].prefill_s = 0.1;
  WarmAsk ask{.home = 0, .reread_s = 2};
  ask.waited_s = 1.8;
  EXPECT_EQ(warm(pool, ask).replica, no_replica);
  ask.waited_s = 1.9;
  EXPECT_EQ(warm(pool, ask).replica, 1u);
  ask.waited_s = 0;
  ask.wait_for_home = false;
  EXPECT_EQ(warm(pool, ask).replica, 1u);
  ask.wait_for_home = true;
  pool[0].up = false;
  EXPECT_EQ(warm(pool, ask).replica, 1u) << "it is down";
  pool[0].up = true;
  pool[0].prefill_s = 1.8;
  EXPECT_EQ(warm(pool, ask).replica, 1u) << "its copy is gone";
}

TEST(Warm, Admission) {
  struct Case {
    const char* what;
    WarmView view;
    WarmAsk ask;
    Admission expected;
  };
  const WarmView free = pool_of(1)[0];
  WarmView down = free, resident = full(free), busy_reading = free, empty = full(free), away = full(free),
           soon = full(free), leaving = full(free), leaving_beside_away = full(free);
  down.up = false;
  resident.is_resident = true;
  busy_reading.unread = most_unread;
  empty.in_flight = empty.seated = 0, empty.is_empty = true;
  away.in_flight = 0, away.expected_back_s = 20, away.displaced_s = 3;
  soon.in_flight = 0, soon.expected_back_s = 2, soon.displaced_s = 3;
  leaving.leaving = {9'000};
  leaving_beside_away.leaving = {9'000}, leaving_beside_away.expected_back_s = 2;
  const Case cases[] = {
      {"room", free, {}, Admission::fits},
      {"down", down, {}, Admission::no},
      {"a resident's next turn is always let in", resident, {}, Admission::fits},
      {"no room", full(free), {}, Admission::no},
      {"no room, but waiting is off", full(free), {.must_fit = false}, Admission::fits},
      {"two are unread already", busy_reading, {}, Admission::no},
      {"larger than the cache, but nobody is there", empty, {}, Admission::alone},
      {"idle, and those away stay away for longer than reading again takes", away, {}, Admission::keeps_busy},
      {"... with the rule off", away, {.keep_busy = false}, Admission::no},
      {"idle, but they are back soon", soon, {}, Admission::no},
      {"one who leaves makes room", leaving, {}, Admission::next},
      {"... not where a cache is kept for somebody away", leaving_beside_away, {}, Admission::no},
  };
  for (const Case& c : cases) EXPECT_EQ(admission(c.view, c.ask), c.expected) << c.what;
}

TEST(Warm, WaitsIfNobodyMayTakeIt) {
  auto pool = pool_of(2);
  for (WarmView& view : pool) view = full(view);
  const Decision decision = warm(pool, {});
  EXPECT_EQ(decision.replica, no_replica);
  EXPECT_EQ(decision.candidates.size(), 2u) << "the record shows why";
  EXPECT_FALSE(decision.candidates[0].may_take);
}

}  // namespace wg::policy
