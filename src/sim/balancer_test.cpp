#include "sim/balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wg::sim {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint32_t> picks(Balancer& balancer, int count) {
  std::vector<std::uint32_t> all;
  for (int i = 0; i < count; ++i) all.push_back(balancer.pick());
  return all;
}

TEST(Balancer, NamesGoBothWays) {
  for (const std::string_view name : {"random", "waiting4", "inflight"})
    EXPECT_EQ(name_of(*balancer_named(name)), name);
  EXPECT_FALSE(balancer_named("least"));
}

TEST(Balancer, RandomIsSeededAndEven) {
  Balancer a(BalancerKind::random, 4, 1), b(BalancerKind::random, 4, 1), c(BalancerKind::random, 4, 2);
  const auto first = picks(a, 40);
  EXPECT_EQ(first, picks(b, 40));
  EXPECT_NE(first, picks(c, 40));
  std::vector<int> counts(4);
  for (const std::uint32_t rank : picks(a, 4'000)) ++counts[rank];
  for (const int count : counts) EXPECT_NEAR(count, 1'000, 150);
}

TEST(Balancer, Waiting4WeighsTheQueueFourfold) {
  Balancer balancer(BalancerKind::waiting4, 3, 1);
  const std::vector<RankCounts> counts{{1, 1, 0}, {0, 6, 0}, {0, 4, 0.9}};
  balancer.publish(counts);  // 5, 6, 4
  EXPECT_EQ(balancer.pick(), 2u);
  EXPECT_EQ(balancer.pick(), 0u) << "its own pick counts as waiting there: 5, 6, 8";
  EXPECT_EQ(balancer.pick(), 1u);
}

TEST(Balancer, Waiting4TiesGoToTheLowestRank) {
  Balancer balancer(BalancerKind::waiting4, 3, 1);
  const std::vector<RankCounts> idle(3);
  for (int i = 0; i < 3; ++i) {
    balancer.publish(idle);
    EXPECT_EQ(balancer.pick(), 0u);
  }
}

TEST(Balancer, InflightTiesWalkOverTheRanks) {
  Balancer balancer(BalancerKind::inflight, 3, 1);
  const std::vector<RankCounts> idle(3);
  std::vector<std::uint32_t> all;
  for (int i = 0; i < 6; ++i) {  // one turn after the other: every decision is a tie
    balancer.publish(idle);
    all.push_back(balancer.pick());
    balancer.finished(all.back());
  }
  EXPECT_THAT(all, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Balancer, InflightIsNotErasedByAStaleSnapshot) {
  Balancer balancer(BalancerKind::inflight, 2, 1);
  balancer.sent(0);
  balancer.sent(0);
  balancer.publish(std::vector<RankCounts>{{0, 0, 0}, {0, 1, 0}});
  EXPECT_EQ(balancer.pick(), 1u) << "2 in flight here against 1 running there";
}

TEST(Balancer, InflightAddsForAQueueOnlyAboveHalfOfTheKv) {
  Balancer low(BalancerKind::inflight, 2, 1), high(BalancerKind::inflight, 2, 1);
  low.publish(std::vector<RankCounts>{{1, 2, 0.5}, {0, 4, 0}});  // 3 against 4
  EXPECT_EQ(low.pick(), 0u);
  high.publish(std::vector<RankCounts>{{1, 2, 1.0}, {0, 4, 0}});  // 3 + 3 against 4
  EXPECT_EQ(high.pick(), 1u);
}

TEST(Balancer, SeveralClientsScaleTheirOwnCount) {
  Balancer balancer(BalancerKind::inflight, 2, 1, 4);
  balancer.sent(0);
  balancer.publish(std::vector<RankCounts>{{0, 1, 0}, {0, 3, 0}});  // max(4 x 1, 1) against 3
  EXPECT_EQ(balancer.pick(), 1u);
}

}  // namespace
}  // namespace wg::sim
