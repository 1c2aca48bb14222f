// What is heard of requests: responses that name where they were made, usage, broken and late reports, several pools.
#include "fleet/test_driver.h"

namespace wg::fleet {

using policy::PolicyName;
using policy::Route;

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
