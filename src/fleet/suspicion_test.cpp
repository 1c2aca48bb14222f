// An engine that resets a request before its answer may be dying: who waits is not sent there until a look has told.
#include "fleet/warm_test_world.h"

namespace wg::fleet {

namespace {

// Two replicas of 34,000 tokens, each with three contexts of 10,000 being read, and one that waits.
struct FullHouse : WarmWorld {
  FullHouse() : WarmWorld(2) {
    for (std::uint64_t session = 1; session <= 6; ++session) {
      const RequestId request = arrive(session, 10'000);
      EXPECT_FALSE(waits(request));
      first_content(request);
      here[at(request)].push_back(request);
    }
    waiter = arrive(9, 10'000);
    EXPECT_TRUE(waits(waiter));
  }
  void fail(RequestId request, Failure failure) {
    turns.at(request).at = no_replica;
    step(AttemptFailed{request, failure});
  }
  std::vector<EngineIndex> looked_at() const {
    std::vector<EngineIndex> all;
    for (const Command& command : d.commands)
      if (const auto* look = std::get_if<ProbeNow>(&command)) all.push_back(look->engine);
    return all;
  }

  std::vector<RequestId> here[2];
  RequestId waiter = 0;
};

constexpr EngineIndex dying = 0;

}  // namespace

TEST(Suspicion, NobodyIsSentFromTheQueueUntilALookHasTold) {
  FullHouse w;
  w.fail(w.here[dying][0], Failure::reset_before_head);
  EXPECT_EQ(w.looked_at(), std::vector{dying});
  EXPECT_TRUE(w.waits(w.waiter)) << "its seat is free, but it may be the first of many";
  EXPECT_TRUE(w.d.fleet.engine_up(dying));
  w.fail(w.here[dying][1], Failure::reset_before_head);
  EXPECT_TRUE(w.looked_at().empty()) << "it is being looked at";
  w.pass(1s);
  EXPECT_TRUE(w.waits(w.waiter));
  w.step(ProbeBad{dying, true});
  EXPECT_TRUE(w.waits(w.waiter));
  EXPECT_EQ(w.waiting(), 3u);
  w.finish(w.here[1][0], 0, AnswerEnd::turn);
  EXPECT_EQ(w.at(w.here[dying][0]), 1u) << "it was there before the waiter";
  w.first_content(w.here[dying][0]);
  w.finish(w.here[1][1], 0, AnswerEnd::turn);
  w.finish(w.here[1][2], 0, AnswerEnd::turn);
  EXPECT_EQ(w.at(w.waiter), 1u);
  EXPECT_TRUE(w.rejected.empty());
}

TEST(Suspicion, AGoodLookEndsItAtOnce) {
  FullHouse w;
  w.fail(w.here[dying][0], Failure::reset_before_head);
  EXPECT_TRUE(w.waits(w.waiter));
  w.step(ProbeGood{dying});
  EXPECT_EQ(w.at(w.waiter), 0u);
  w.fail(w.waiter, Failure::reset_before_head);
  EXPECT_EQ(w.looked_at(), std::vector{dying}) << "the next one is news again";
}

TEST(Suspicion, EndsInTimeThoughNobodyAnswers) {
  FullHouse w;
  w.fail(w.here[dying][0], Failure::reset_before_head);
  w.pass(3s);
  w.step(ProbeBad{dying, false});
  w.pass(3s);
  EXPECT_TRUE(w.waits(w.waiter)) << "a look that failed makes it no better";
  w.pass(2s);
  EXPECT_FALSE(w.waits(w.waiter)) << "no look could be made";
}

TEST(Suspicion, OthersAreStillPlacedElsewhereAndResidentsGoHome) {
  FullHouse w;
  const RequestId resident = w.here[dying][1];
  const std::uint64_t its_session = w.turns.at(resident).session;
  w.finish(resident, 0);
  w.fail(w.here[dying][0], Failure::reset_before_head);
  EXPECT_EQ(w.at(w.arrive(its_session, 10'500)), 0u);
  w.finish(w.here[1][0], 0, AnswerEnd::turn);
  w.finish(w.here[1][1], 0, AnswerEnd::turn);
  EXPECT_EQ(w.at(w.waiter), 1u);
}

TEST(Suspicion, WithOneEngineNobodyIsToldThatNoneIsUp) {
  WarmWorld w(1);
  const RequestId first = w.arrive(1, 30'000), waiter = w.arrive(2, 30'000);
  w.turns.at(first).at = no_replica;
  w.step(AttemptFailed{first, Failure::reset_before_head});
  ASSERT_EQ(w.rejected.size(), 1u) << "there is no other for the one that failed";
  const RequestId fresh = w.arrive(3, 1'000);
  EXPECT_TRUE(w.waits(waiter));
  EXPECT_TRUE(w.waits(fresh));
  w.step(ProbeGood{0});
  EXPECT_FALSE(w.waits(waiter));
  EXPECT_EQ(w.rejected.size(), 1u);
}

TEST(Suspicion, AStaleConnectionIsNone) {
  FullHouse w;
  const RequestId request = w.here[dying][0];
  w.fail(request, Failure::stale_connection);
  EXPECT_EQ(w.at(request), 0u) << "on a fresh connection";
  EXPECT_TRUE(w.looked_at().empty());
  w.fail(request, Failure::stale_connection);
  EXPECT_EQ(w.looked_at(), std::vector{dying}) << "a fresh connection cannot be stale";
  EXPECT_TRUE(w.waits(w.waiter));
}

TEST(Suspicion, OtherFailuresAreNone) {
  for (const Failure failure : {Failure::busy, Failure::timed_out}) {
    FullHouse w;
    w.fail(w.here[dying][0], failure);
    EXPECT_TRUE(w.looked_at().empty());
    EXPECT_FALSE(w.waits(w.waiter));
  }
}

// What died in mid-stream frees a seat at an engine that is no more.
TEST(Suspicion, NobodyFollowsWhoDiedInMidStream) {
  for (const Outcome outcome : {Outcome::died_mid_stream, Outcome::engine_aborted}) {
    FullHouse w;
    const RequestId dead = w.here[dying][0];
    w.turns.erase(dead);
    w.step(Finished{dead, outcome});
    EXPECT_FALSE(w.d.fleet.engine_up(dying));
    EXPECT_TRUE(w.waits(w.waiter));
  }
}

TEST(Suspicion, UnderOtherPoliciesItIsALookAndNoMore) {
  Driver d(2, 1, policy::PolicyName::sticky);
  const RequestId request = d.arrive(1);
  const ReplicaIndex home = d.dispatched().replica;
  d.fail(request, Failure::reset_before_head);
  EXPECT_EQ(d.dispatched().replica, 1 - home);
  ASSERT_NE(d.the<ProbeNow>(), nullptr);
  EXPECT_EQ(d.the<ProbeNow>()->engine, home);
  EXPECT_EQ(d.turn(1).replica, home);
}

}  // namespace wg::fleet
