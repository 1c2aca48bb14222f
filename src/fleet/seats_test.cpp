#include "fleet/seats.h"

#include <gtest/gtest.h>

#include "fleet/test_driver.h"

namespace wg::fleet {

namespace {
const SessionKey head = key(1000);

void sit(Seats& seats, std::uint64_t who, std::int64_t own, TimePoint idle_since, TimePoint until) {
  seats.begin_turn(key(who), head, {3500}, {own});
  Seat* const seat = seats.end_turn(key(who), {own});
  ASSERT_NE(seat, nullptr);
  seat->idle_since = idle_since;
  seat->held_until = until;
}
}  // namespace

TEST(Seats, ASharedHeadCountsOnce) {
  Seats seats;
  seats.begin_turn(key(1), head, {3500}, {7000});
  seats.begin_turn(key(2), head, {3500}, {8000});
  EXPECT_EQ(seats.taken().count, 18'500);
  EXPECT_TRUE(seats.counts_head(head));
  seats.end_turn(key(1), {7000});
  seats.unseat(key(1));
  EXPECT_EQ(seats.taken().count, 11'500);
  seats.end_turn(key(2), {8000});
  seats.unseat(key(2));
  EXPECT_EQ(seats.taken().count, 0);
  EXPECT_FALSE(seats.counts_head(head));
}

TEST(Seats, ATurnSizesItsSeatAnew) {
  Seats seats;
  seats.begin_turn(key(1), {}, {}, {7000});
  seats.end_turn(key(1), {7000});
  seats.begin_turn(key(1), {}, {}, {5000});
  EXPECT_EQ(seats.taken().count, 5000) << "a compacted context is smaller";
  EXPECT_EQ(seats.find(key(1))->turns, 2u);
}

TEST(Seats, ParallelTurnsOfOneLineageTakeRoomEach) {
  Seats seats;
  seats.begin_turn(key(1), head, {3500}, {7000});
  seats.set_stays(key(1), false);
  seats.begin_turn(key(1), head, {3500}, {2000});
  EXPECT_EQ(seats.taken().count, 12'500);
  EXPECT_EQ(seats.leaving().count, 9'000);
  seats.end_turn(key(1), {7000});
  EXPECT_EQ(seats.taken().count, 5'500);
  EXPECT_EQ(seats.leaving().count, 2'000);
  seats.end_turn(key(1), {2000});
  EXPECT_EQ(seats.taken().count, 5'500) << "the last one's stays, until somebody decides";
  EXPECT_EQ(seats.leaving().count, 0);
}

TEST(Seats, WhatIsInFlightKeepsItsSeat) {
  Seats seats;
  seats.begin_turn(key(1), {}, {}, {7000});
  seats.unseat(key(1));
  seats.make_room({100'000}, {10});
  seats.unseat_idle();
  EXPECT_NE(seats.find(key(1)), nullptr);
  EXPECT_EQ(seats.in_flight(), 1u);
}

TEST(Seats, RoomIsMadeByThoseLongestAway) {
  Seats seats;
  const TimePoint t0{1s};
  sit(seats, 1, 100, t0 + 2s, t0 + 60s);
  sit(seats, 2, 100, t0 + 1s, t0 + 60s);
  sit(seats, 3, 100, t0 + 3s, t0 + 60s);
  seats.make_room({100}, {3500 + 300});
  EXPECT_EQ(seats.find(key(2)), nullptr);
  EXPECT_NE(seats.find(key(1)), nullptr);
  EXPECT_NE(seats.find(key(3)), nullptr);
}

TEST(Seats, HoldsRunOut) {
  Seats seats;
  const TimePoint t0{1s};
  sit(seats, 1, 100, t0, t0 + 2s);
  sit(seats, 2, 100, t0, t0 + 4s);
  EXPECT_EQ(seats.first_expiry(), t0 + 2s);
  seats.expire(t0 + 1s);
  EXPECT_EQ(seats.all().size(), 2u);
  seats.expire(t0 + 2s);
  EXPECT_EQ(seats.all().size(), 1u);
}

TEST(Seats, AnEndWithoutASeatIsNothing) {
  Seats seats;
  EXPECT_EQ(seats.end_turn(key(9), {}), nullptr);
}

}  // namespace wg::fleet
