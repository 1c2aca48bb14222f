#include "fleet/gaps.h"

#include <gtest/gtest.h>

namespace wg::fleet {

namespace {
constexpr Wait tool{AnswerEnd::tool_call, 0, ClientKind::agent}, person{AnswerEnd::turn, 0, ClientKind::agent};
}

TEST(Gaps, AToolIsExpectedToBeFasterThanAPerson) {
  const GapModel gaps;
  EXPECT_LT(gaps.expected_s({}, tool), 5);
  EXPECT_GT(gaps.expected_s({}, person), 20);
  EXPECT_LT(gaps.expected_s({}, {}), 5) << "who says nothing is taken for an agent";
  EXPECT_GT(gaps.expected_s({}, {AnswerEnd::unknown, 0, ClientKind::chat}), 20);
}

TEST(Gaps, OwnPausesOutweighThePriorInTime) {
  GapModel gaps;
  for (int i = 0; i < 200; ++i) {
    GapHistory other;
    gaps.came_back(other, tool, 2);
  }
  GapHistory own;
  EXPECT_NEAR(gaps.expected_s(own, tool), 2, 0.1);
  for (int i = 0; i < 8; ++i) gaps.came_back(own, tool, 12);
  EXPECT_NEAR(gaps.expected_s(own, tool), (3 * 2 + 8 * 12) / 11.0, 0.7);
  EXPECT_GT(gaps.expected_s(own, person), 20) << "pauses for tools say nothing of a person's";
}

TEST(Gaps, AToolHasAMeanOfItsOwnOnceItIsKnown) {
  GapModel gaps;
  const Wait build{AnswerEnd::tool_call, 77, ClientKind::agent};
  for (int i = 0; i < 5; ++i) {
    GapHistory other;
    gaps.came_back(other, build, 90);
    for (int j = 0; j < 10; ++j) gaps.came_back(other, tool, 1);
  }
  EXPECT_NEAR(gaps.expected_s({}, build), 90, 1);
  EXPECT_LT(gaps.expected_s({}, tool), 20);
}

TEST(Gaps, AnEndlessPauseIsOnlyLong) {
  GapModel gaps;
  GapHistory own;
  gaps.came_back(own, tool, 1e12);
  gaps.came_back(own, tool, -5);
  EXPECT_LE(gaps.expected_s(own, tool), GapModel::longest_s);
  EXPECT_GE(gaps.expected_s(own, tool), 0);
}

TEST(Gaps, WhatIsToldIsBelieved) {
  const GapModel gaps;
  EXPECT_DOUBLE_EQ(gaps.expected_s({}, {.end = AnswerEnd::tool_call, .told_s = 7}), 7);
  EXPECT_DOUBLE_EQ(gaps.expected_s({}, {.end = AnswerEnd::tool_call, .told_s = 7'000}), GapModel::longest_s);
}

}  // namespace wg::fleet
