// Where a session's turns go: first placement, home, spills, homes that go down, sub-agents; and when nobody is up.
#include <set>

#include "fleet/test_driver.h"

namespace wg::fleet {

using policy::PolicyName;
using policy::Route;

TEST(Sessions, FirstPlacedThenSticky) {
  Driver d(1, 4);
  const Dispatch first = d.turn(1);
  EXPECT_EQ(first.route, Route::placed);
  for (int i = 0; i < 20; ++i) {
    const Dispatch next = d.turn(1);
    EXPECT_EQ(next.route, Route::sticky);
    EXPECT_EQ(next.replica, first.replica);
    d.wait(30s);
  }
  EXPECT_EQ(d.replica(first.replica).turns.placed, 1u);
  EXPECT_EQ(d.replica(first.replica).turns.sticky, 20u);
  EXPECT_EQ(d.replica(first.replica).requests, 21u);
}

TEST(Sessions, SpreadEvenlyBecauseDispatchedCounts) {
  Driver d(1, 4);
  std::multiset<ReplicaIndex> homes;
  for (std::uint64_t s = 1; s <= 16; ++s) {
    d.arrive(s);
    homes.insert(d.dispatched().replica);
  }
  for (ReplicaIndex r = 0; r < 4; ++r) EXPECT_EQ(homes.count(r), 4u) << r;
}

TEST(Sessions, SpreadEvenlyAlsoWhenIdle) {
  // Nothing in flight: the active sessions tell the replicas apart.
  Driver d(1, 4);
  std::multiset<ReplicaIndex> homes;
  for (std::uint64_t s = 1; s <= 8; ++s) homes.insert(d.turn(s).replica);
  for (ReplicaIndex r = 0; r < 4; ++r) EXPECT_EQ(homes.count(r), 2u) << r;
}

TEST(Sessions, SpillAboveThresholdAndComeBack) {
  Driver d(1, 2);
  const ReplicaIndex home = d.turn(1).replica, other = 1 - home;
  // Nine more of the same session are in flight at home: above N = 8.
  std::vector<RequestId> running;
  for (int i = 0; i < 9; ++i) {
    running.push_back(d.arrive(1));
    EXPECT_EQ(d.dispatched().route, Route::sticky) << i;
    EXPECT_EQ(d.dispatched().replica, home);
  }
  running.push_back(d.arrive(1));
  EXPECT_EQ(d.dispatched().route, Route::spilled);
  EXPECT_EQ(d.dispatched().replica, other);
  EXPECT_EQ(d.home(1), home);
  d.finish(running[0]);
  EXPECT_EQ(d.turn(1).route, Route::sticky);
}

TEST(Sessions, SpillAdoptsWithRehome) {
  Spec spec = Driver::spec_of(2, PolicyName::sticky);
  spec.pools[0].spill_rehome = true;
  spec.pools[0].spill_threshold = 1;
  Driver d(spec);
  d.bring_up(0);
  d.bring_up(1);
  const ReplicaIndex home = d.turn(1).replica;
  d.arrive(1);
  d.arrive(1);
  d.arrive(1);
  EXPECT_EQ(d.dispatched().route, Route::spilled);
  EXPECT_EQ(d.home(1), 1 - home);
}

TEST(Sessions, ADownHomeMovesOnceAndDoesNotGoBack) {
  Driver d(2, 2);
  const ReplicaIndex old = d.turn(1).replica;
  d.take_down(d.replica(old).engine);
  const Dispatch moved = d.turn(1);
  EXPECT_EQ(moved.route, Route::placed);
  EXPECT_NE(d.replica(moved.replica).engine, d.replica(old).engine);
  EXPECT_EQ(d.home(1), moved.replica);
  d.step(ProbeGood{d.replica(old).engine});
  const Dispatch after = d.turn(1);
  EXPECT_EQ(after.route, Route::sticky);
  EXPECT_EQ(after.replica, moved.replica);
}

TEST(Sessions, HomesSurviveAFlapThatNobodyNoticed) {
  Driver d(2, 2);
  const ReplicaIndex home = d.turn(1).replica;
  d.take_down(d.replica(home).engine);
  d.wait(3s);
  d.step(ProbeGood{d.replica(home).engine});
  const Dispatch after = d.turn(1);
  EXPECT_EQ(after.route, Route::sticky);
  EXPECT_EQ(after.replica, home);
}

TEST(Sessions, ReleasedOnesArePlacedAnew) {
  Driver d(1, 4);
  d.turn(1);
  d.step(SessionReleased{0, key(1)});
  EXPECT_EQ(d.fleet.sessions_known(), 0u);
  EXPECT_EQ(d.turn(1).route, Route::placed);
}

TEST(Sessions, WithoutAKeyLeastLoadedAndNoTrace) {
  Driver d(1, 4);
  std::set<ReplicaIndex> seen;
  for (int i = 0; i < 4; ++i) {
    d.arrive(0);
    EXPECT_EQ(d.dispatched().route, Route::placed);
    seen.insert(d.dispatched().replica);
  }
  EXPECT_EQ(seen.size(), 4u);
  RequestArrived untracked;
  untracked.session = key(5);
  untracked.kind = RequestClass::untracked;
  d.arrive(untracked);
  EXPECT_EQ(d.dispatched().route, Route::placed);
  EXPECT_EQ(d.fleet.sessions_known(), 0u);
}

TEST(Sessions, TheTableIsBoundedAndSparesLivingOnes) {
  Spec spec = Driver::spec_of(1, PolicyName::sticky);
  spec.session_limit = 100;
  Driver d(spec);
  d.bring_up(0, 4);
  const ReplicaIndex home = d.turn(1).replica;
  d.turn(1);
  for (std::uint64_t s = 1000; s < 6000; ++s) d.turn(s);
  EXPECT_EQ(d.fleet.sessions_known(), 100u);
  EXPECT_EQ(d.turn(1).route, Route::sticky);
  EXPECT_EQ(d.home(1), home);
  std::uint32_t active = 0;
  for (const ReplicaState& row : d.fleet.replicas(d.now)) active += row.active_sessions;
  EXPECT_EQ(active, 100u) << "those that were evicted are not counted";
}

TEST(Sessions, AnEvictedKeysOldRequestDoesNotTouchItsNewLife) {
  Spec spec = Driver::spec_of(1, PolicyName::sticky);
  spec.session_limit = 1;
  Driver d(spec);
  d.bring_up(0);
  BugWatch bugs;
  const RequestId old = d.arrive(1);
  d.turn(2);
  const RequestId fresh = d.arrive(1);
  d.finish(old);
  EXPECT_EQ(d.fleet.sessions(1).at(0).in_flight, 1u);
  d.finish(fresh);
  EXPECT_EQ(d.fleet.sessions(1).at(0).in_flight, 0u);
  EXPECT_EQ(bugs.seen(), 0u);
}

TEST(Sessions, ActiveUntilAMinuteAfterTheirLastTurn) {
  Driver d(1, 1);
  const RequestId request = d.arrive(1);
  d.wait(10min);
  EXPECT_EQ(d.replica(0).active_sessions, 1u) << "a turn is in flight";
  d.finish(request);
  d.wait(59s);
  d.turn(2);
  EXPECT_EQ(d.replica(0).active_sessions, 2u);
  d.wait(1s);
  EXPECT_EQ(d.replica(0).active_sessions, 1u) << "read without a step";
  d.turn(3);
  EXPECT_EQ(d.replica(0).active_sessions, 2u) << "and after one";
  d.wait(60s);
  EXPECT_EQ(d.replica(0).active_sessions, 0u);
}

TEST(Sessions, ListedMostRecentFirst) {
  Driver d(1, 2);
  for (const std::uint64_t s : {1, 2, 3, 1}) d.turn(s);
  const auto sessions = d.fleet.sessions(2);
  ASSERT_EQ(sessions.size(), 2u);
  EXPECT_EQ(sessions[0].key, key(1));
  EXPECT_EQ(sessions[0].turns, 2u);
  EXPECT_EQ(sessions[1].key, key(3));
}

TEST(SubAgents, StartAtTheParentsHomeUnlessItIsFullOrDown) {
  Driver d(4, 1);
  const ReplicaIndex parent = d.turn(1).replica;
  RequestArrived child;
  child.kind = RequestClass::sub_agent;
  child.parent = key(1);
  for (std::uint64_t s = 10; s < 19; ++s) {
    child.session = key(s);
    d.arrive(child);
    EXPECT_EQ(d.dispatched().replica, parent);
    EXPECT_EQ(d.dispatched().route, Route::placed);
  }
  child.session = key(30);
  d.arrive(child);
  EXPECT_NE(d.dispatched().replica, parent) << "nine in flight there are above eight";
  d.take_down(d.replica(parent).engine);
  child.session = key(31);
  d.arrive(child);
  EXPECT_NE(d.dispatched().replica, parent);
}

TEST(Rejects, WhenNoReplicaIsUp) {
  Driver d(2, 2);
  d.take_down(0);
  d.take_down(1);
  const RequestId request = d.arrive(1);
  EXPECT_EQ(d.rejected().status, 503);
  EXPECT_EQ(d.rejected().retry_after_s, 1u);
  EXPECT_FALSE(d.rejected().pass_upstream_answer);
  EXPECT_EQ(d.the<Dispatch>(), nullptr);
  EXPECT_EQ(d.fleet.requests_known(), 1u);
  d.finish(request, Outcome::refused_by_us);
  EXPECT_EQ(d.fleet.requests_known(), 0u);
}

TEST(Rejects, WaitAsLongAsADyingEngineIsDistrusted) {
  Driver d(1);
  d.finish(d.arrive(1), Outcome::engine_aborted);
  d.wait(1500ms);
  d.arrive(1);
  EXPECT_EQ(d.rejected().retry_after_s, 5u);
}

}  // namespace wg::fleet
