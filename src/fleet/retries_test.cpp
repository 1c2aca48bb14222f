// What happens when an attempt comes to nothing.
#include <algorithm>

#include "fleet/test_driver.h"

namespace wg::fleet {

using policy::Route;

TEST(Retries, MoveTheLoadWithTheRequest) {
  Driver d(3, 1);
  const RequestId request = d.arrive(0);
  const ReplicaIndex first = d.dispatched().replica;
  d.fail(request, Failure::reset_before_head);
  const ReplicaIndex second = d.dispatched().replica;
  EXPECT_NE(second, first);
  EXPECT_EQ(d.replica(first).in_flight, 0u);
  EXPECT_EQ(d.replica(second).in_flight, 1u);
  d.finish(request);
  EXPECT_EQ(d.in_flight(), 0u);
  EXPECT_EQ(d.fleet.requests_known(), 0u);
}

TEST(Retries, AtMostTwoAndNeverTheSameReplica) {
  Driver d(5, 1);
  const RequestId request = d.arrive(0);
  std::vector<ReplicaIndex> tried{d.dispatched().replica};
  for (int i = 0; i < 2; ++i) {
    d.fail(request, Failure::busy);
    const ReplicaIndex next = d.dispatched().replica;
    EXPECT_EQ(std::count(tried.begin(), tried.end(), next), 0);
    tried.push_back(next);
  }
  d.fail(request, Failure::busy);
  EXPECT_EQ(d.rejected().status, 503);
  EXPECT_TRUE(d.rejected().pass_upstream_answer);
  EXPECT_EQ(d.in_flight(), 0u);
  d.finish(request, Outcome::failed);
  EXPECT_EQ(d.fleet.requests_known(), 0u);
}

TEST(Retries, PreferAnotherEngine) {
  Driver d(2, 2);
  for (int i = 0; i < 20; ++i) {
    const RequestId request = d.arrive(0);
    const EngineIndex first = d.replica(d.dispatched().replica).engine;
    d.fail(request, Failure::busy);
    EXPECT_NE(d.replica(d.dispatched().replica).engine, first);
    d.fail(request, Failure::busy);
    EXPECT_NE(d.the<Dispatch>(), nullptr) << "another rank of one of them";
  }
}

TEST(Retries, AnotherRankIfThereIsOneEngineOnly) {
  Driver d(1, 2);
  const RequestId request = d.arrive(0);
  const ReplicaIndex first = d.dispatched().replica;
  d.fail(request, Failure::busy);
  EXPECT_EQ(d.dispatched().replica, 1 - first);
  d.fail(request, Failure::busy);
  EXPECT_TRUE(d.rejected().pass_upstream_answer);
}

TEST(Retries, WithoutAnotherReplica) {
  struct Case {
    Failure failure;
    int status;
    bool pass;
  };
  for (const Case& c : {Case{Failure::busy, 503, true}, Case{Failure::refused, 503, false},
                        Case{Failure::reset_before_head, 503, false}, Case{Failure::engine_dead, 503, false},
                        Case{Failure::timed_out, 504, false}}) {
    Driver d(1, 1);
    const RequestId request = d.arrive(1);
    d.fail(request, c.failure);
    EXPECT_EQ(d.rejected().status, c.status);
    EXPECT_EQ(d.rejected().pass_upstream_answer, c.pass);
    EXPECT_GE(d.rejected().retry_after_s, 1u);
    EXPECT_EQ(d.in_flight(), 0u);
    d.finish(request, Outcome::failed);
    EXPECT_EQ(d.in_flight(), 0u);
  }
}

TEST(Retries, NoneAfterATimeOut) {
  Driver d(3, 1);
  d.fail(d.arrive(1), Failure::timed_out);
  EXPECT_EQ(d.rejected().status, 504);
}

TEST(Retries, AStaleConnectionIsTriedOnceMoreAtTheSamePlace) {
  Driver d(3, 1);
  d.turn(1);
  const RequestId request = d.arrive(1);
  const Dispatch first = d.dispatched();
  d.fail(request, Failure::stale_connection);
  EXPECT_EQ(d.dispatched().replica, first.replica);
  EXPECT_EQ(d.dispatched().route, first.route);
  EXPECT_TRUE(d.dispatched().same_connection_rule);
  EXPECT_EQ(d.replica(first.replica).in_flight, 1u);
  EXPECT_EQ(d.replica(first.replica).requests, 2u) << "uncounted";
  d.fail(request, Failure::stale_connection);
  EXPECT_NE(d.dispatched().replica, first.replica);
  EXPECT_FALSE(d.dispatched().same_connection_rule);
}

TEST(Retries, AStaleConnectionToAnEngineThatIsDownGoesElsewhere) {
  Driver d(2, 1);
  const RequestId request = d.arrive(1);
  const ReplicaIndex first = d.dispatched().replica;
  d.take_down(d.replica(first).engine);
  d.fail(request, Failure::stale_connection);
  EXPECT_EQ(d.dispatched().replica, 1 - first);
}

TEST(Retries, EndHoweverOftenTheyFail) {
  Driver d(8, 1);
  const RequestId request = d.arrive(1);
  int attempts = 0;
  while (!d.the<Reject>()) {
    ASSERT_LT(++attempts, 20);
    d.fail(request, Failure::stale_connection);
  }
  EXPECT_EQ(attempts, 6) << "three replicas, two attempts at each";
}

TEST(Retries, ABusyHomeStaysHome) {
  Driver d(3, 1);
  const ReplicaIndex home = d.turn(1).replica;
  const RequestId request = d.arrive(1);
  d.fail(request, Failure::busy);
  EXPECT_NE(d.dispatched().replica, home);
  EXPECT_EQ(d.dispatched().route, Route::spilled);
  EXPECT_EQ(d.home(1), home);
  d.finish(request);
  EXPECT_EQ(d.turn(1).replica, home);
}

TEST(Retries, AHomeThatIsDownIsReplaced) {
  Driver d(3, 1);
  const ReplicaIndex home = d.turn(1).replica;
  const RequestId request = d.arrive(1);
  d.fail(request, Failure::refused);
  const ReplicaIndex next = d.dispatched().replica;
  EXPECT_NE(next, home);
  EXPECT_EQ(d.dispatched().route, Route::placed);
  EXPECT_EQ(d.home(1), next);
  d.finish(request);
  d.step(ProbeGood{d.replica(home).engine});
  EXPECT_EQ(d.turn(1).replica, next);
  for (const SessionState& session : d.fleet.sessions(10)) EXPECT_EQ(session.in_flight, 0u);
}

TEST(Retries, ThoseBoundToAMakerAreNotTriedElsewhere) {
  Driver d(3, 1);
  const RequestId made = d.arrive(1);
  d.step(ResponseMade{made, key(50)});
  d.finish(made);
  RequestArrived follow;
  follow.pinned_to_response = key(50);
  const RequestId request = d.arrive(follow);
  d.fail(request, Failure::stale_connection);
  EXPECT_TRUE(d.dispatched().same_connection_rule);
  d.fail(request, Failure::busy);
  EXPECT_TRUE(d.rejected().pass_upstream_answer);
}

TEST(Retries, HashGoesToTheNextAndStaysThere) {
  Driver d(4, 1, policy::PolicyName::hash);
  const ReplicaIndex first = d.turn(1).replica;
  RequestId request = d.arrive(1);
  d.fail(request, Failure::busy);
  const ReplicaIndex next = d.dispatched().replica;
  EXPECT_NE(next, first);
  request = d.arrive(1);
  d.fail(request, Failure::busy);
  EXPECT_EQ(d.dispatched().replica, next);
}

TEST(Retries, OfUnsteeredRequestsGoToAnotherEngine) {
  Driver d(2, 4);
  RequestArrived event;
  event.steerable_path = false;
  const RequestId request = d.arrive(event);
  const EngineIndex first = d.replica(d.dispatched().replica).engine;
  d.fail(request, Failure::busy);
  EXPECT_NE(d.replica(d.dispatched().replica).engine, first);
  d.fail(request, Failure::busy);
  EXPECT_TRUE(d.rejected().pass_upstream_answer);
}

}  // namespace wg::fleet
