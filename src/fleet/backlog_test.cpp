#include "fleet/backlog.h"

#include <gtest/gtest.h>

namespace wg::fleet {

using std::chrono_literals::operator""s;

TEST(Backlog, IsReadInTurn) {
  Backlog backlog;
  const TimePoint start{100s};
  EXPECT_EQ(backlog.seconds(start), 0);
  backlog.sent(1, 4, start);
  backlog.sent(2, 3, start + 1s);
  EXPECT_EQ(backlog.turns(), 2u);
  EXPECT_DOUBLE_EQ(backlog.seconds(start + 1s), 6);
  EXPECT_DOUBLE_EQ(backlog.seconds(start + 60s), 0) << "late, but not below zero";
}

TEST(Backlog, WhatIsLeftBeginsWhenOneHasBeenRead) {
  Backlog backlog;
  const TimePoint start{100s};
  backlog.sent(1, 4, start);
  backlog.sent(2, 3, start);
  backlog.read(1, start + 10s);
  EXPECT_DOUBLE_EQ(backlog.seconds(start + 10s), 3);
  backlog.read(1, start + 12s);  // prefilled, and then it ended: counts once
  EXPECT_EQ(backlog.turns(), 1u);
  EXPECT_DOUBLE_EQ(backlog.seconds(start + 12s), 1);
  backlog.read(2, start + 12s);
  EXPECT_TRUE(backlog.empty());
  EXPECT_DOUBLE_EQ(backlog.seconds(start + 12s), 0);
}

}  // namespace wg::fleet
