// Engines that choose the rank themselves, policies without sessions, and a policy that is changed.
#include "fleet/test_driver.h"

namespace wg::fleet {

using policy::PolicyName;
using policy::Route;

TEST(Unsteered, GoesToTheEngineAndCountsAFractionOnEachRank) {
  Driver d(1, 4);
  RequestArrived request;
  request.steerable_path = false;
  d.arrive(request);
  EXPECT_EQ(d.dispatched().route, Route::unsteered);
  EXPECT_EQ(d.replica(d.dispatched().replica).rank, std::nullopt);
  d.arrive(7);
  const Note* note = d.the<Note>();
  ASSERT_NE(note, nullptr);
  ASSERT_EQ(note->candidates.size(), 4u);
  for (const policy::Candidate& candidate : note->candidates) EXPECT_EQ(candidate.in_flight, 0.25);
}

TEST(Unsteered, SeparateReplicasArePinnedLikeTheRest) {
  Driver d(3, 1);
  RequestArrived request;
  request.session = key(1);
  request.steerable_path = false;
  RequestId id = d.arrive(request);
  const ReplicaIndex home = d.dispatched().replica;
  EXPECT_EQ(d.dispatched().route, Route::placed);
  d.finish(id);
  for (int i = 0; i < 9; ++i) {
    id = d.arrive(request);
    EXPECT_EQ(d.dispatched().route, Route::sticky);
    EXPECT_EQ(d.dispatched().replica, home);
  }
  d.arrive(request);
  EXPECT_EQ(d.dispatched().route, Route::spilled);
}

TEST(Unsteered, InAMixedPoolAnEngineCountsAsTheMeanOfItsRanks) {
  Driver d(Driver::spec_of(2, PolicyName::sticky));
  d.bring_up(0, 4);  // rows 0..3, and 4 without a rank
  d.bring_up(1, 1);  // row 5
  RequestArrived request;
  request.steerable_path = false;
  std::vector<int> times(6);
  for (int i = 0; i < 10; ++i) {
    d.arrive(request);
    ++times[d.dispatched().replica];
    EXPECT_EQ(d.dispatched().route, d.dispatched().replica == 4 ? Route::unsteered : Route::placed);
  }
  EXPECT_EQ(times[4], 8) << "four fifths of the ranks";
  EXPECT_EQ(times[5], 2);
}

TEST(Unsteered, LaterTurnsGoToTheSameEngine) {
  Driver d(3, 2);
  RequestArrived request;
  request.session = key(1);
  request.steerable_path = false;
  d.arrive(request);
  const ReplicaIndex row = d.dispatched().replica;
  d.arrive(2);
  d.arrive(3);
  for (int i = 0; i < 5; ++i) {
    d.arrive(request);
    EXPECT_EQ(d.dispatched().replica, row);
    EXPECT_EQ(d.dispatched().route, Route::unsteered);
  }
}

TEST(Unsteered, FollowsASteeredHomesEngineAndLeavesTheHome) {
  Driver d(3, 2);
  d.turn(9);
  const ReplicaIndex home = d.turn(1).replica;
  RequestArrived request;
  request.session = key(1);
  request.steerable_path = false;
  d.arrive(request);
  EXPECT_EQ(d.replica(d.dispatched().replica).engine, d.replica(home).engine);
  EXPECT_EQ(d.dispatched().route, Route::unsteered);
  EXPECT_EQ(d.home(1), home);
  EXPECT_EQ(d.turn(1).replica, home);
}

TEST(Unsteered, AnEngineWithoutTheHeaderIsNeverSteered) {
  Driver d(Driver::spec_of(1, PolicyName::sticky));
  d.find(0, 4, "model", false);
  d.step(ProbeGood{0});
  EXPECT_EQ(d.turn(1).route, Route::unsteered);
  EXPECT_EQ(d.turn(1).route, Route::unsteered);
}

TEST(Off, RanksAreLeftToTheEngine) {
  Driver d(1, 4, PolicyName::off);
  for (int i = 0; i < 8; ++i) {
    d.arrive(1);
    EXPECT_EQ(d.dispatched().route, Route::off);
    EXPECT_EQ(d.replica(d.dispatched().replica).rank, std::nullopt);
  }
  EXPECT_EQ(d.replica(4).in_flight, 8u);
  EXPECT_EQ(d.replica(4).turns.off, 8u);
}

TEST(Off, SeparateReplicasByScrapedCounts) {
  Driver d(3, 1, PolicyName::off);
  d.step(ReplicaSampled{0, 0, 4, 0, 0.1});
  d.step(ReplicaSampled{1, 0, 1, 1, 0.9});  // 2 + 1 x 6 x 0.4 = 4.4
  d.step(ReplicaSampled{2, 0, 3, 0, 0.9});
  d.arrive(1);
  EXPECT_EQ(d.dispatched().replica, 2u);
  EXPECT_EQ(d.dispatched().route, Route::off);
  // What was dispatched since the scrape counts as waiting: 4 + 1 x 6 x 0.4 = 6.4.
  d.arrive(1);
  EXPECT_EQ(d.dispatched().replica, 0u);
}

TEST(Off, SeveralGroupsByTheirSums) {
  Driver d(2, 2, PolicyName::off);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    d.step(ReplicaSampled{0, rank, 3, 0, 0.2});
    d.step(ReplicaSampled{1, rank, 2, 0, 0.2});
  }
  for (int i = 0; i < 2; ++i) {
    d.arrive(1);
    EXPECT_EQ(d.replica(d.dispatched().replica).engine, 1u);
    EXPECT_EQ(d.replica(d.dispatched().replica).rank, std::nullopt);
  }
}

TEST(Baselines, ReportPlaced) {
  for (const PolicyName name : {PolicyName::round_robin, PolicyName::least, PolicyName::hash}) {
    Driver d(1, 4, name);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(d.turn(1).route, Route::placed);
  }
}

TEST(Baselines, RoundRobinWalksAndHashStays) {
  Driver walks(1, 4, PolicyName::round_robin);
  for (ReplicaIndex i = 0; i < 8; ++i) EXPECT_EQ(walks.turn(1).replica, i % 4);
  Driver stays(1, 4, PolicyName::hash);
  const ReplicaIndex at = stays.turn(1).replica;
  for (int i = 0; i < 20; ++i) {
    stays.arrive(1);
    EXPECT_EQ(stays.dispatched().replica, at) << "whatever the load";
  }
}

TEST(PolicyChange, KeepsHomes) {
  Driver d(1, 4);
  const ReplicaIndex home = d.turn(1).replica;
  for (const PolicyName name : {PolicyName::round_robin, PolicyName::off, PolicyName::hash, PolicyName::least}) {
    d.step(PolicyChanged{0, name, {}});
    EXPECT_EQ(d.fleet.pool(0).policy, name);
    for (int i = 0; i < 3; ++i) d.turn(1);
    EXPECT_EQ(d.home(1), home);
  }
  d.step(PolicyChanged{0, PolicyName::sticky, {}});
  const Dispatch back = d.turn(1);
  EXPECT_EQ(back.route, Route::sticky);
  EXPECT_EQ(back.replica, home);
}

}  // namespace wg::fleet
