#include "policy/break_even.h"

#include <gtest/gtest.h>

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

TEST(BreakEven, HoldsFollowThePauseUpToTheBreakEven) {
  EXPECT_DOUBLE_EQ(hold_s(4.5, 0.2), 1.3);
  EXPECT_DOUBLE_EQ(hold_s(4.5, 4.0), 4.5);
  EXPECT_TRUE(is_worth_holding(4.5, 4.5));
  EXPECT_FALSE(is_worth_holding(4.5, 4.6));
}

}  // namespace wg::policy
