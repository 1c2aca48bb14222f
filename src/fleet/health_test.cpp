// Engines come and go: by probes, by what traffic meets, by discovery.
#include "fleet/test_driver.h"

namespace wg::fleet {

using policy::Route;

TEST(Health, FoundIsNotUp) {
  Driver d(Driver::spec_of(1, policy::PolicyName::sticky));
  EXPECT_EQ(d.fleet.replicas(d.now).size(), 0u);
  d.step(ProbeGood{0});
  EXPECT_FALSE(d.fleet.engine_up(0)) << "nothing is known of it yet";
  d.find(0, 4);
  EXPECT_TRUE(d.noted(Note::What::engine_changed));
  EXPECT_FALSE(d.fleet.engine_up(0));
  EXPECT_EQ(d.fleet.pool(0).replicas_up, 0u);
  d.step(ProbeGood{0});
  EXPECT_TRUE(d.noted(Note::What::engine_up));
  ASSERT_NE(d.the<ProbeEvery>(), nullptr);
  EXPECT_EQ(d.the<ProbeEvery>()->interval, 1s);
  EXPECT_EQ(d.fleet.pool(0).replicas_up, 4u);
  d.step(ProbeGood{0});
  EXPECT_TRUE(d.commands.empty()) << "no change, no command";
}

TEST(Health, RowsOfAnEngineWithRanks) {
  Driver d(1, 4);
  const auto rows = d.fleet.replicas(d.now);
  ASSERT_EQ(rows.size(), 5u);
  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(rows[rank].rank, rank);
  EXPECT_EQ(rows[4].rank, std::nullopt);
  Driver single(1, 1);
  ASSERT_EQ(single.fleet.replicas(single.now).size(), 1u);
  EXPECT_EQ(single.fleet.replicas(single.now)[0].rank, 0u);
}

TEST(Health, ThreeMissesInARow) {
  Driver d(1, 2);
  d.step(ProbeBad{0});
  d.step(ProbeBad{0});
  d.step(ProbeGood{0});
  d.step(ProbeBad{0});
  d.step(ProbeBad{0});
  EXPECT_TRUE(d.fleet.engine_up(0));
  d.step(ProbeBad{0});
  EXPECT_FALSE(d.fleet.engine_up(0));
  EXPECT_TRUE(d.noted(Note::What::engine_down));
  EXPECT_EQ(d.the<ProbeEvery>()->interval, 200ms);
  d.step(ProbeBad{0});
  EXPECT_TRUE(d.commands.empty());
}

TEST(Health, ARefusedProbeIsEnough) {
  Driver d(1, 2);
  d.step(ProbeBad{0, true});
  EXPECT_FALSE(d.fleet.engine_up(0));
  d.step(ProbeGood{0});
  EXPECT_TRUE(d.fleet.engine_up(0));
}

TEST(Health, ARefusedConnectionTakesAllRanksOutAtOnce) {
  Driver d(2, 2);
  const RequestId request = d.arrive(1);
  const ReplicaIndex first = d.dispatched().replica;
  d.fail(request, Failure::refused);
  EXPECT_TRUE(d.noted(Note::What::engine_down));
  EXPECT_NE(d.replica(d.dispatched().replica).engine, d.replica(first).engine);
  for (const ReplicaState& row : d.fleet.replicas(d.now)) EXPECT_EQ(row.up, row.engine != d.replica(first).engine);
}

TEST(Health, AResetInMidStreamTakesItOutUntilAGoodProbe) {
  Driver d(1, 2);
  d.finish(d.arrive(1), Outcome::died_mid_stream);
  EXPECT_FALSE(d.fleet.engine_up(0));
  d.step(ProbeGood{0});
  EXPECT_TRUE(d.fleet.engine_up(0));
}

TEST(Health, ADyingEngineIsNotBelievedForSixSeconds) {
  for (const bool mid_stream : {true, false}) {
    Driver d(1, 2);
    const RequestId request = d.arrive(1);
    mid_stream ? d.finish(request, Outcome::engine_aborted) : d.fail(request, Failure::engine_dead);
    EXPECT_FALSE(d.fleet.engine_up(0));
    d.wait(5999ms);
    d.step(ProbeGood{0});
    EXPECT_FALSE(d.fleet.engine_up(0));
    d.arrive(1);
    EXPECT_EQ(d.rejected().status, 503);
    d.wait(1ms);
    d.step(ProbeGood{0});
    EXPECT_TRUE(d.fleet.engine_up(0));
  }
}

TEST(Health, ALaterSignOfDyingExtendsTheDistrust) {
  Driver d(1, 2);
  const RequestId one = d.arrive(1), two = d.arrive(2);
  d.finish(one, Outcome::engine_aborted);
  d.wait(3s);
  d.finish(two, Outcome::engine_aborted);
  EXPECT_FALSE(d.noted(Note::What::engine_down)) << "it was down already";
  d.wait(4s);
  d.step(ProbeGood{0});
  EXPECT_FALSE(d.fleet.engine_up(0));
  d.wait(2s);
  d.step(ProbeGood{0});
  EXPECT_TRUE(d.fleet.engine_up(0));
}

TEST(Health, OtherEndsSayNothing) {
  Driver d(1, 2);
  for (const Outcome outcome : {Outcome::ok, Outcome::client_gone, Outcome::failed, Outcome::refused_by_us})
    d.finish(d.arrive(1), outcome);
  for (const Failure failure :
       {Failure::reset_before_head, Failure::busy, Failure::stale_connection, Failure::timed_out}) {
    const RequestId request = d.arrive(1);
    d.fail(request, failure);
    d.finish(request);
  }
  EXPECT_TRUE(d.fleet.engine_up(0));
}

TEST(Health, NeverWritesLoad) {
  Driver d(2, 1);
  const RequestId one = d.arrive(1), two = d.arrive(2);
  d.take_down(0);
  d.take_down(1);
  EXPECT_EQ(d.in_flight(), 2u);
  d.step(ProbeGood{0});
  d.step(ProbeGood{1});
  EXPECT_EQ(d.in_flight(), 2u);
  EXPECT_EQ(d.replica(0).in_flight, 1u);
  d.finish(one);
  d.finish(two);
  EXPECT_EQ(d.in_flight(), 0u);
}

TEST(Discovery, TheSameAgainOnlyUpdatesFacts) {
  Driver d(1, 4);
  EXPECT_EQ(d.fleet.pool(0).threshold, 8u);
  d.step(EngineFound{0, {}, "model", 4, true, 64, Tokens{1000}});
  EXPECT_TRUE(d.commands.empty());
  EXPECT_TRUE(d.fleet.engine_up(0));
  EXPECT_EQ(d.fleet.replicas(d.now).size(), 5u);
  EXPECT_EQ(d.fleet.pool(0).threshold, 16u);
  EXPECT_EQ(d.replica(0).kv_capacity, Tokens{1000});
}

TEST(Discovery, SomethingElseRetiresTheOldRows) {
  struct Change {
    const char* model;
    std::uint32_t ranks;
  };
  for (const Change& change : {Change{"other", 2}, Change{"model", 4}, Change{"model", 1}}) {
    Driver d(1, 2);
    const RequestId request = d.arrive(1);
    const ReplicaIndex old = d.dispatched().replica;
    d.find(0, change.ranks, change.model);
    EXPECT_TRUE(d.noted(Note::What::engine_changed));
    EXPECT_FALSE(d.fleet.engine_up(0)) << "it has to show that it is well";
    EXPECT_TRUE(d.replica(old).retired);
    EXPECT_FALSE(d.replica(old).up);
    EXPECT_EQ(d.in_flight(), 1u);
    d.step(ProbeGood{0});
    EXPECT_FALSE(d.replica(old).up);

    d.finish(request, Outcome::died_mid_stream);
    EXPECT_TRUE(d.fleet.engine_up(0)) << "the end of the old one says nothing about the new one";
    const auto rows = d.fleet.replicas(d.now);
    for (ReplicaIndex i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].index, i) << "an index always means the same";
      EXPECT_EQ(rows[i].retired, i < 3);
    }

    EXPECT_EQ(d.home(1), no_replica);
    d.arrive(1);
    EXPECT_TRUE(d.noted(Note::What::home_dropped));
    EXPECT_EQ(d.dispatched().route, Route::placed);
    EXPECT_EQ(d.home(1), d.dispatched().replica);
  }
}

TEST(Discovery, AnEngineCanJoinAnotherPool) {
  Spec spec = Driver::spec_of(2, policy::PolicyName::sticky);
  spec.pools.push_back(
      {.name = "second", .policy = policy::PolicyName::sticky, .spill_threshold = {}, .spill_rehome = false});
  spec.engines[0].pool = 1;
  Driver d(spec);
  d.step(EngineFound{0, 0, "model", 1, true, 32, {}});
  d.step(ProbeGood{0});
  EXPECT_EQ(d.fleet.pool(0).replicas_up, 1u);
  EXPECT_EQ(d.fleet.pool(1).replicas_up, 0u);
  EXPECT_EQ(d.turn(1).replica, 0u);
  EXPECT_EQ(d.replica(0).pool, 0u);

  // Without a pool in the event it is the one of its EngineSpec again: its replica there is a new one.
  d.step(EngineFound{0, {}, "model", 1, true, 32, {}});
  d.step(ProbeGood{0});
  EXPECT_EQ(d.fleet.pool(1).replicas_up, 1u);
  d.arrive(1);
  EXPECT_EQ(d.rejected().status, 503);

  BugWatch bugs;
  d.step(EngineFound{0, 9, "model", 1, true, 32, {}});
  EXPECT_EQ(bugs.seen(), 1u);
  EXPECT_EQ(d.fleet.pool(1).replicas_up, 1u);
}

TEST(Discovery, ScrapesOfUnknownRanksAreIgnored) {
  Driver d(1, 2);
  d.step(ReplicaSampled{0, 7, 1, 2, 0.5});
  d.step(ReplicaSampled{0, 1, 1, 2, 0.5});
  EXPECT_EQ(d.replica(1).waiting, 2);
  EXPECT_EQ(d.replica(0).waiting, 0);
}

TEST(Discovery, UnknownEnginesAreABug) {
  Driver d(1);
  BugWatch bugs;
  d.step(ProbeGood{9});
  d.step(ProbeBad{9});
  d.step(ReplicaSampled{9, 0, 1, 1, 0.1});
  d.find(9, 1);
  EXPECT_EQ(bugs.seen(), 4u);
}

TEST(Threshold, AutoConfiguredAndAssumed) {
  Driver d(Driver::spec_of(2, policy::PolicyName::sticky));
  EXPECT_EQ(d.fleet.pool(0).threshold, 8u);
  EXPECT_TRUE(d.fleet.pool(0).threshold_assumed);
  d.step(EngineFound{0, {}, "model", 1, true, 16, {}});
  EXPECT_EQ(d.fleet.pool(0).threshold, 4u);
  EXPECT_FALSE(d.fleet.pool(0).threshold_assumed);
  d.step(EngineFound{1, {}, "model", 1, true, {}, {}});
  EXPECT_EQ(d.fleet.pool(0).threshold, 4u);
  EXPECT_TRUE(d.fleet.pool(0).threshold_assumed);
  d.step(PolicyChanged{0, policy::PolicyName::sticky, 3});
  EXPECT_TRUE(d.noted(Note::What::policy_changed));
  EXPECT_EQ(d.fleet.pool(0).threshold, 3u);
  EXPECT_FALSE(d.fleet.pool(0).threshold_assumed);
  EXPECT_EQ(d.fleet.pool(0).configured_threshold, 3u);
}

}  // namespace wg::fleet
