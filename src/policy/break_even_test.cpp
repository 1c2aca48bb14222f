#include "policy/break_even.h"

#include <gtest/gtest.h>

#include <cmath>

namespace wg::policy {

TEST(BreakEven, Table) {
  struct Case {
    const char* what;
    ServiceFacts facts;
    double seconds;
  };
  const Case cases[] = {
      {"a 4B model on a 16 GB card", {3, 2.1, 10.3, 11.9, 3}, 4.2},
      {"a 27B model on a 32 GB card", {2, 24, 6, 8, 24}, 45.25},
      {"no hit has been seen yet", {3, 2, 10, 0, 1e9}, 6},
      {"a hit takes as long as reading again: nothing to win", {1, 1, 1, 30, 3}, least_break_even_s},
      {"a context larger than the cache: one at a time", {0, 9, 5, 5, 3}, 6.75},
  };
  for (const Case& c : cases) EXPECT_NEAR(break_even_s(c.facts), c.seconds, 0.05) << c.what;
}

TEST(BreakEven, WithoutSeatsAllTurnsOfAReplicaWaitForEachOther) {
  const ServiceFacts facts{3, 3, 6, 8, 3};
  EXPECT_DOUBLE_EQ(wait_without_seats_s(facts, 8, 0), 8 * 5 - 8);
  EXPECT_DOUBLE_EQ(wait_without_seats_s(facts, 8, 3), 8 * 5 - 8 - 3);
  EXPECT_DOUBLE_EQ(wait_without_seats_s(facts, 1, 0), 0) << "no wait is below 0";
  EXPECT_DOUBLE_EQ(wait_without_seats_s({0, 3, 6, 0, 3}, 4, 0), 4 * 9 - 6) << "no hit has been seen yet";
}

TEST(BreakEven, HoldsFollowThePauseUpToTheBreakEven) {
  EXPECT_NEAR(hold_s(4.5, 0.2), 0.5 + 0.2 * 6.07, 0.01);
  EXPECT_DOUBLE_EQ(hold_s(4.5, 2.0), 4.5);
  EXPECT_TRUE(is_worth_holding(4.5, 4.5));
  EXPECT_FALSE(is_worth_holding(4.5, 4.6));
}

// Of long contexts that come back soon one return in 350 is missed, of those that are hardly worth a seat many.
TEST(BreakEven, WhoIsFarBelowTheBreakEvenIsWaitedFor) {
  const auto missed = [](double break_even, double gap_s) { return std::exp(-hold_s(break_even, gap_s) / gap_s); };
  EXPECT_LT(missed(66, 4), 0.004);
  EXPECT_GT(missed(66, 4), 0.001);
  EXPECT_GT(missed(9, 8), 0.25);  // not worth much
  for (const double gap_s : {0.0, 0.2, 3.0, 4.0, 4.5, 40.0}) {
    EXPECT_LE(hold_s(4.5, gap_s), 4.5) << gap_s;
    EXPECT_GE(hold_s(4.5, gap_s), least_hold_s) << gap_s;
  }
}

}  // namespace wg::policy
