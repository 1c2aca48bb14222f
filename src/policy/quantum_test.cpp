#include "policy/quantum.h"

#include <gtest/gtest.h>

namespace wg::policy {

TEST(Quantum, ARotationCostsAtMostATenth) {
  EXPECT_EQ(quantum_turns(WarmMode::latency, 3, 12), 3u);    // a small card
  EXPECT_EQ(quantum_turns(WarmMode::latency, 8, 10), 8u);    // real sessions
  EXPECT_EQ(quantum_turns(WarmMode::latency, 35, 12), 29u);  // long contexts
  EXPECT_EQ(quantum_turns(WarmMode::latency, 1e9, 0), 10'000u);
}

TEST(Quantum, AWaitForASeatStaysBelowSeventeenReadings) {
  EXPECT_EQ(quantum_turns(WarmMode::latency, 8, 10, 1.6), 8u);
  EXPECT_EQ(quantum_turns(WarmMode::latency, 8, 10, 4), 3u);
  EXPECT_EQ(quantum_turns(WarmMode::latency, 8, 10, 400), least_quantum);
  for (const double crowd : {2.0, 3.0, 5.0, 9.0})
    EXPECT_LE(crowd * 10 * *quantum_turns(WarmMode::latency, 40, 10, crowd), 17 * 40 * 1.1) << crowd;
}

TEST(Quantum, ARotationIsDueOnceTheFirstHasWaitedForLongerThanSeatsAreWorth) {
  EXPECT_FALSE(is_rotation_due(1, 34, 3, 20));  // 37 of 38 s
  EXPECT_TRUE(is_rotation_due(1, 36, 3, 20));
  EXPECT_FALSE(is_rotation_due(1, 0, 3, 0));  // whoever has just come can wait for most of a reading
  EXPECT_TRUE(is_rotation_due(1, 3, 3, 0));
}

TEST(Quantum, WhereManyWaitEachRotationIsDue) {
  EXPECT_FALSE(is_rotation_due(usual_crowd, 0, 3, 20));
  EXPECT_TRUE(is_rotation_due(usual_crowd + 0.1, 0, 3, 20));
}

TEST(Quantum, OtherModesHaveNone) {
  EXPECT_EQ(quantum_turns(WarmMode::throughput, 3, 12), std::nullopt);
  EXPECT_EQ(quantum_turns(WarmMode::fair_tail, 3, 12), std::nullopt);
}

}  // namespace wg::policy
