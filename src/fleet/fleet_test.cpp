// Where turns go: placement, homes, spills, pins, the other policies; and what is counted.
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

TEST(Responses, GoWhereTheyWereMade) {
  Driver d(3, 2);
  RequestArrived make;
  make.steerable_path = false;
  make.session = key(1);
  const RequestId first = d.arrive(make);
  const ReplicaIndex maker = d.dispatched().replica;
  d.step(ResponseMade{first, key(77)});
  d.finish(first);

  RequestArrived follow = make;
  follow.session = key(2);
  follow.pinned_to_response = key(77);
  for (int i = 0; i < 40; ++i) {
    d.arrive(follow);
    ASSERT_EQ(d.dispatched().replica, maker) << "never spilled";
  }
  EXPECT_EQ(d.home(2), maker);

  RequestArrived get;
  get.steerable_path = false;
  get.pinned_to_response = key(77);
  get.must_be_pinned = true;
  d.arrive(get);
  EXPECT_EQ(d.dispatched().replica, maker);

  d.take_down(d.replica(maker).engine);
  d.arrive(get);
  EXPECT_EQ(d.rejected().status, 503);
  d.arrive(follow);
  EXPECT_EQ(d.rejected().status, 503);
}

TEST(Responses, OfAnUnknownMaker) {
  RequestArrived follow;
  follow.steerable_path = false;
  follow.pinned_to_response = key(5);
  RequestArrived get = follow;
  get.must_be_pinned = true;

  Driver many(2, 2);
  many.arrive(follow);
  EXPECT_EQ(many.dispatched().route, Route::unsteered) << "placed as any other";
  many.arrive(get);
  EXPECT_EQ(many.rejected().status, 404);

  Driver one(1, 2);
  one.arrive(get);
  EXPECT_EQ(one.dispatched().route, Route::unsteered);
  one.take_down(0);
  one.arrive(get);
  EXPECT_EQ(one.rejected().status, 503);
}

TEST(Responses, AreLostWithTheirEngine) {
  Driver d(2, 1);
  const RequestId first = d.arrive(1);
  const EngineIndex engine = d.replica(d.dispatched().replica).engine;
  d.step(ResponseMade{first, key(77)});
  d.finish(first);
  d.find(engine, 2);
  RequestArrived get;
  get.pinned_to_response = key(77);
  get.must_be_pinned = true;
  d.arrive(get);
  EXPECT_EQ(d.rejected().status, 404);
}

TEST(Usage, CachedComputedAndUnmeasured) {
  Driver d(1, 1);
  RequestArrived event;
  event.session = key(1);
  event.prompt_estimate = {900};
  RequestId request = d.arrive(event);
  d.step(UsageReported{request, {1000}, {800}, {50}, true, true});
  EXPECT_EQ(d.fleet.sessions(1)[0].context, Tokens{1050});
  d.finish(request);
  request = d.arrive(event);
  d.step(UsageReported{request, {500}, {}, {10}, true, false});
  d.finish(request);
  request = d.arrive(event);
  d.step(UsageReported{request, {}, {}, {}, false, false});
  d.finish(request);
  const ReplicaState row = d.replica(0);
  EXPECT_EQ(row.prompt_cached, 800u);
  EXPECT_EQ(row.prompt_computed, 200u + 500u + 900u);
  EXPECT_EQ(row.prompt_unmeasured, 500u + 900u);
  EXPECT_EQ(row.output_tokens, 60u);
}

TEST(Usage, ALaterReportReplacesTheEarlierOne) {
  Driver d(1, 1);
  const RequestId request = d.arrive(1);
  d.step(UsageReported{request, {1000}, {800}, {1}, true, true});
  d.step(UsageReported{request, {1000}, {800}, {50}, true, true});
  EXPECT_EQ(d.replica(0).prompt_cached, 800u);
  EXPECT_EQ(d.replica(0).output_tokens, 50u);
}

TEST(Usage, APromptThatNobodyMeasuredCountsAsComputed) {
  Driver d(1, 1);
  RequestArrived event;
  event.prompt_estimate = {700};
  RequestId request = d.arrive(event);
  d.step(FirstContent{request});
  d.finish(request, Outcome::client_gone);
  request = d.arrive(event);
  d.finish(request, Outcome::client_gone);
  EXPECT_EQ(d.replica(0).prompt_unmeasured, 700u) << "the second one was not read";
}

TEST(Usage, NonsenseIsClamped) {
  Driver d(1, 1);
  const RequestId request = d.arrive(1);
  d.step(UsageReported{request, {100}, {500}, {-7}, true, true});
  EXPECT_EQ(d.replica(0).prompt_cached, 100u);
  EXPECT_EQ(d.replica(0).prompt_computed, 0u);
  EXPECT_EQ(d.replica(0).output_tokens, 0u);
}

TEST(Usage, ATitleCallLeavesTheContextAlone) {
  Driver d(1, 1);
  RequestArrived event;
  event.session = key(1);
  RequestId request = d.arrive(event);
  d.step(UsageReported{request, {30'000}, {}, {100}, true, true});
  d.finish(request);
  event.kind = RequestClass::background;
  request = d.arrive(event);
  d.step(UsageReported{request, {300}, {}, {10}, true, true});
  EXPECT_EQ(d.fleet.sessions(1)[0].context, Tokens{30'100});
}

TEST(Contract, BrokenOnesAreCountedAndIgnored) {
  Driver d(2, 1);
  BugWatch bugs;
  d.finish(99);
  EXPECT_EQ(bugs.seen(), 1u);
  const RequestId request = d.arrive(1);
  RequestArrived again;
  again.request = request;
  d.step(again);
  EXPECT_EQ(bugs.seen(), 2u);
  EXPECT_TRUE(d.commands.empty());
  d.finish(request);
  d.finish(request);
  EXPECT_EQ(bugs.seen(), 3u);
  d.fail(request, Failure::refused);
  EXPECT_EQ(bugs.seen(), 4u);
  RequestArrived elsewhere;
  elsewhere.pool = 7;
  d.arrive(elsewhere);
  EXPECT_EQ(bugs.seen(), 5u);
  EXPECT_EQ(d.rejected().status, 503);
  d.step(PolicyChanged{7, PolicyName::off, {}});
  EXPECT_EQ(bugs.seen(), 6u);
  EXPECT_EQ(d.in_flight(), 0u);
}

TEST(Contract, LateReportsOfAnEndedRequestChangeNothing) {
  Driver d(1, 1);
  BugWatch bugs;
  const RequestId request = d.arrive(1);
  d.finish(request);
  d.step(FirstByte{request});
  d.step(FirstContent{request});
  d.step(UsageReported{request, {100}, {}, {1}, true, true});
  d.step(ResponseMade{request, key(3)});
  d.step(TimerFired{1});
  EXPECT_EQ(d.replica(0).prompt_computed, 0u);
  EXPECT_EQ(bugs.seen(), 0u);
}

TEST(Pools, DoNotMix) {
  Spec spec = Driver::spec_of(2, PolicyName::sticky);
  spec.pools.push_back({.name = "second", .policy = PolicyName::least, .spill_threshold = {}, .spill_rehome = false});
  spec.engines[1].pool = 1;
  Driver d(spec);
  d.bring_up(0);
  d.bring_up(1);
  RequestArrived event;
  for (const PoolIndex pool : {0u, 1u}) {
    event.pool = pool;
    for (int i = 0; i < 10; ++i) {
      d.arrive(event);
      EXPECT_EQ(d.replica(d.dispatched().replica).pool, pool);
    }
  }
  d.take_down(1);
  d.arrive(event);
  EXPECT_EQ(d.rejected().status, 503);
}

}  // namespace wg::fleet
