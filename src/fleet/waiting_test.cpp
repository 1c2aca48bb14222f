// The queue of `warm` by hand: who waits, who goes, and what becomes of the queue when things go wrong.
#include "fleet/warm_test_world.h"
#include "policy/queue_order.h"

namespace wg::fleet {

namespace {
// Fills a replica of 34,000 tokens: three contexts of 10,000 are in flight.
std::vector<RequestId> fill(WarmWorld& w, std::uint64_t first_session = 1) {
  std::vector<RequestId> filled;
  for (std::uint64_t s = first_session; s < first_session + 3; ++s) {
    filled.push_back(w.arrive(s, 10'000));
    EXPECT_FALSE(w.waits(filled.back()));
    w.first_content(filled.back());
  }
  return filled;
}
}  // namespace

TEST(Waiting, WhoDoesNotFitWaitsUntilSomebodyHasLeft) {
  WarmWorld w(1);
  const auto filled = fill(w);
  const RequestId late = w.arrive(9, 10'000);
  EXPECT_TRUE(w.waits(late));
  EXPECT_TRUE(w.d.the<Hold>());
  EXPECT_EQ(w.waiting(), 1u);
  EXPECT_EQ(w.d.in_flight(), 3u) << "what waits is not in flight";
  w.finish(filled[0], 0, AnswerEnd::turn);  // a person will read: the seat is free
  EXPECT_FALSE(w.waits(late));
  EXPECT_EQ(w.waiting(), 0u);
}

TEST(Waiting, AResidentsNextTurnGoesHomeAtOnce) {
  WarmWorld w(2);
  const RequestId first = w.arrive(1, 10'000);
  const ReplicaIndex home = w.at(first);
  w.finish(first, 0);
  w.pass(200ms);
  const RequestId next = w.arrive(1, 10'600);
  EXPECT_EQ(w.at(next), home);
  EXPECT_EQ(w.warm(home).seats, 1u);
}

TEST(Waiting, ASeatIsHeldOnlyAsLongAsItPays) {
  WarmWorld w(1);
  const auto filled = fill(w);
  for (const RequestId request : filled) w.finish(request, 0);
  EXPECT_EQ(w.warm(0).seats_idle, 3u);
  const RequestId late = w.arrive(9, 10'000);
  w.pass(60s);  // nobody came back
  EXPECT_FALSE(w.waits(late));
  EXPECT_EQ(w.waiting(), 0u);
}

TEST(Waiting, AResidentStaysBeyondItsQuantumUntilTheFirstHasWaitedForLong) {
  WarmWorld w(1);
  auto turns = fill(w);
  const RequestId late = w.arrive(9, 10'000);
  const TimePoint came = w.d.now;
  int rounds = 1;  // a turn of each; a quantum is three
  for (; w.waits(late) && rounds < 100; ++rounds)
    for (std::uint64_t s = 1; s <= turns.size() && w.waits(late); ++s) {
      w.pass(1s);
      w.finish(turns[s - 1], rounds == 1 ? 0 : 9'900);
      w.pass(200ms);
      turns[s - 1] = w.arrive(s, 10'000);
      if (!w.waits(turns[s - 1])) w.first_content(turns[s - 1]);
    }
  EXPECT_FALSE(w.waits(late));
  EXPECT_GT(rounds, 4);
  EXPECT_GT(w.d.now - came, 10s);
  EXPECT_LT(w.d.now - came, 60s);
}

TEST(Waiting, TheForegroundGoesFirst) {
  WarmWorld w(1);
  const auto filled = fill(w);
  const RequestId title = w.arrive(8, 9'000, RequestClass::background);
  const RequestId agent = w.arrive(9, 9'000, RequestClass::sub_agent);
  w.pass(1s);
  const RequestId turn = w.arrive(10, 9'000);
  w.finish(filled[0], 0, AnswerEnd::turn);
  EXPECT_FALSE(w.waits(turn));
  EXPECT_TRUE(w.waits(agent));
  w.finish(filled[1], 0, AnswerEnd::turn);
  EXPECT_FALSE(w.waits(agent));
  EXPECT_TRUE(w.waits(title));
}

TEST(Waiting, AClientThatLeavesTheQueueLeavesNoTrace) {
  WarmWorld w(1);
  BugWatch bugs;
  const auto filled = fill(w);
  const RequestId late = w.arrive(9, 10'000), later = w.arrive(10, 10'000);
  w.leave(late);
  EXPECT_EQ(w.waiting(), 1u);
  w.finish(filled[0], 0, AnswerEnd::turn);
  EXPECT_FALSE(w.waits(later));
  for (const RequestId request : {filled[1], filled[2], later}) w.finish(request, 0, AnswerEnd::turn);
  EXPECT_EQ(w.d.fleet.requests_known(), 0u);
  EXPECT_EQ(w.warm(0).seats, 0u);
  EXPECT_EQ(w.warm(0).seat_tokens.count, 0);
  EXPECT_EQ(bugs.seen(), 0u);
}

TEST(Waiting, AContextLargerThanTheCacheGoesAlone) {
  WarmWorld w(1);
  const auto filled = fill(w);
  const RequestId huge = w.arrive(9, 60'000);
  EXPECT_TRUE(w.waits(huge));
  for (const RequestId request : filled) w.finish(request, 0, AnswerEnd::turn);
  EXPECT_FALSE(w.waits(huge));
  const RequestId small = w.arrive(10, 5'000);
  EXPECT_TRUE(w.waits(small)) << "beside it there is no room";
  w.finish(huge, 0, AnswerEnd::turn);
  EXPECT_FALSE(w.waits(small));
}

TEST(Waiting, ATitleCallDoesNotResizeItsConversation) {
  WarmWorld w(2);
  const RequestId turn = w.arrive(1, 20'000);
  const RequestId title = w.arrive(1, 800, RequestClass::background);
  EXPECT_FALSE(w.waits(title));
  const ReplicaIndex home = w.at(turn);
  w.finish(title, 0, AnswerEnd::turn);
  w.finish(turn, 0);
  EXPECT_GE(w.warm(home).seat_tokens.count, 20'000);
  EXPECT_EQ(w.d.home(1), home);
}

TEST(Waiting, ACompactedContextNeedsLess) {
  WarmWorld w(1);
  const RequestId before = w.arrive(1, 30'000);
  w.finish(before, 0);
  w.pass(100ms);
  const RequestId after = w.arrive(1, 6'000);
  EXPECT_LT(w.warm(0).seat_tokens.count, 10'000);
  const RequestId other = w.arrive(2, 10'000);
  EXPECT_FALSE(w.waits(other));
  w.finish(after, 3'000);
  EXPECT_EQ(w.warm(0).hits_missed, 0u) << "an edited prompt is no lost cache";
}

TEST(Waiting, ParallelTurnsOfOneLineageShareASeat) {
  WarmWorld w(2);
  const RequestId a = w.arrive(1, 10'000), b = w.arrive(1, 10'000);
  EXPECT_EQ(w.at(a), w.at(b));
  EXPECT_EQ(w.warm(w.at(a)).seats, 1u);
  w.finish(a, 0);
  EXPECT_EQ(w.warm(w.at(b)).seats_idle, 0u) << "one is in flight still";
}

// Sub-agents whose client names one session for all of them, or somebody who would like to have an engine for himself.
TEST(Waiting, ManyParallelTurnsOfOneLineageWaitAsOthersDo) {
  WarmWorld w(2);
  BugWatch bugs;
  for (int n = 0; n < 20; ++n) w.arrive(1, 10'000);
  bool both = false;
  while (!w.turns.empty()) {
    std::vector<RequestId> sent;
    for (const auto& [id, turn] : w.turns)
      if (turn.at != no_replica) sent.push_back(id);
    ASSERT_FALSE(sent.empty()) << w.waiting() << " wait for ever";
    both = both || (w.warm(0).seats > 0 && w.warm(1).seats > 0);
    for (const ReplicaIndex at : {0, 1})
      EXPECT_LE(w.warm(at).seat_tokens.count, WarmWorld::capacity + 10'200) << "one may stand ready";
    for (const RequestId id : sent)  // an engine reads what it has room for
      if (!w.turns.at(id).first_content && w.warm(w.at(id)).seat_tokens.count <= WarmWorld::capacity)
        w.first_content(id);
    w.finish(sent.front(), 0);
    w.pass(3s);
  }
  EXPECT_TRUE(both) << "they need not all be at one replica";
  EXPECT_EQ(bugs.seen(), 0u);
}

TEST(Waiting, NobodyWaitsForTheSeatThatIsHeldForHim) {
  WarmWorld w(1);
  const auto filled = fill(w);
  const RequestId first = w.arrive(9, 10'000), second = w.arrive(9, 10'000);
  EXPECT_TRUE(w.waits(first) && w.waits(second));
  w.finish(filled[0], 0, AnswerEnd::turn);
  EXPECT_FALSE(w.waits(first));
  EXPECT_TRUE(w.waits(second)) << "there is no room for both";
  w.finish(first, 0);
  EXPECT_FALSE(w.waits(second));
  EXPECT_EQ(w.warm(0).seats, 3u);
}

TEST(Waiting, ACrashReturnsItsRequestsToTheQueue) {
  WarmWorld w(2);
  BugWatch bugs;
  const auto one = fill(w), two = fill(w, 11);
  const RequestId waiter = w.arrive(9, 10'000);
  std::vector<RequestId> there;
  for (auto& [id, turn] : w.turns)
    if (turn.at == 0) there.push_back(id);
  for (const RequestId id : there) {
    w.turns.at(id).at = no_replica;
    w.turns.at(id).first_content = false;
    w.step(AttemptFailed{id, Failure::refused});
  }
  EXPECT_EQ(w.waiting(), there.size() + 1) << "the other replica is full";
  EXPECT_EQ(w.warm(0).seats, 0u);
  EXPECT_TRUE(w.waits(waiter));
  for (int round = 0; round < 20 && !w.turns.empty(); ++round) {
    std::vector<RequestId> sent;
    for (const auto& [id, turn] : w.turns)
      if (turn.at != no_replica) sent.push_back(id);
    for (const RequestId id : sent) w.finish(id, 0, AnswerEnd::turn);
  }
  EXPECT_TRUE(w.turns.empty());
  EXPECT_EQ(bugs.seen(), 0u);
}

TEST(Waiting, AReplicaThatCameBackMayBeTriedAgain) {
  WarmWorld w(2);
  const RequestId lost = w.arrive(1, 10'000);
  const ReplicaIndex there = w.at(lost);
  std::vector<RequestId> others;
  while (w.waiting() == 0) others.push_back(w.arrive(10 + others.size(), 30'000));
  w.turns.at(lost).at = no_replica;
  w.step(AttemptFailed{lost, Failure::refused});
  EXPECT_TRUE(w.waits(lost)) << "the other one is full";
  w.step(ProbeGood{static_cast<EngineIndex>(w.d.replica(there).engine)});
  EXPECT_EQ(w.at(lost), there);
}

// Whoever came to nothing where all others find room, and finds none elsewhere, would keep them from there.
TEST(Waiting, WhoIsOvertakenOftenMayTryAgainWhatFailedIt) {
  WarmWorld w(2);
  const RequestId long_one = w.arrive(1, 33'000), failed = w.arrive(2, 9'000);
  ASSERT_NE(w.at(long_one), w.at(failed));
  const ReplicaIndex there = w.at(failed);
  w.turns.at(failed).at = no_replica;
  w.step(AttemptFailed{failed, policy::Failure::busy});
  ASSERT_TRUE(w.waits(failed));
  for (std::uint64_t session = 10; w.waits(failed); ++session) {
    ASSERT_LT(session, 10u + policy::most_overtaken + 1);
    const RequestId other = w.arrive(session, 9'000);
    w.pass(1s);
    if (w.waits(failed)) w.finish(other, 0, AnswerEnd::turn);
    w.pass(20s);
  }
  EXPECT_EQ(w.at(failed), there);
}

TEST(Waiting, WithNobodyUpWaitersAreToldSo) {
  WarmWorld w(1);
  const auto filled = fill(w);
  const RequestId late = w.arrive(9, 10'000);
  w.step(ProbeBad{0, true});
  ASSERT_EQ(w.rejected.size(), 1u);
  EXPECT_EQ(w.rejected[0].request, late);
  EXPECT_EQ(w.rejected[0].status, 503);
}

TEST(Waiting, OnlyConversationsThatHaveNotBegunAreRefused) {
  WarmRules rules;
  rules.max_wait = 5s;
  WarmWorld w(1, rules);
  const RequestId begun = w.arrive(9, 10'000);
  w.finish(begun, 0, AnswerEnd::turn);
  fill(w);
  const RequestId again = w.arrive(9, 10'500), fresh = w.arrive(10, 10'000);
  w.pass(30s);
  ASSERT_EQ(w.rejected.size(), 1u);
  EXPECT_EQ(w.rejected[0].request, fresh);
  EXPECT_GE(w.rejected[0].retry_after_s, 1u);
  EXPECT_TRUE(w.waits(again));
}

TEST(Waiting, AnotherPolicyLetsEverybodyGo) {
  WarmWorld w(1);
  fill(w);
  const RequestId late = w.arrive(9, 10'000);
  w.step(PolicyChanged{0, policy::PolicyName::sticky, {}});
  EXPECT_FALSE(w.waits(late));
}

TEST(Waiting, ALostCacheIsNoticedByWhatIsNotCached) {
  WarmWorld w(1);
  for (const std::uint64_t session : {1, 2}) {
    const RequestId request = w.arrive(session, 10'000);
    w.finish(request, 0);
    w.pass(100ms);
  }
  // The engine was restarted behind our back: the second finds nothing, so the first, used before it, is gone too.
  const RequestId next = w.arrive(2, 10'600);
  w.finish(next, 0);
  EXPECT_EQ(w.warm(0).hits_missed, 1u);
  EXPECT_EQ(w.warm(0).copies, 1u) << "the second's context, read again";
}

TEST(Waiting, ADecisionShowsEveryTermOfItsPrice) {
  WarmWorld w(2);
  const RequestId request = w.arrive(1, 10'000);
  const Note* decided = nullptr;
  for (const Note& note : w.notes)
    if (note.request == request && note.what == Note::What::decision) decided = &note;
  ASSERT_NE(decided, nullptr);
  ASSERT_EQ(decided->candidates.size(), 2u);
  for (const policy::Candidate& c : decided->candidates) {
    EXPECT_GT(c.prefill_s, 0);
    EXPECT_DOUBLE_EQ(c.cost_s, c.backlog_s + c.prefill_s + c.crowd_s + c.displaced_s);
    EXPECT_EQ(c.room.count, WarmWorld::capacity);
  }
  EXPECT_STREQ(decided->rule, "seat: the cheapest");
}

TEST(Advice, SaysInWordsWhatLimits) {
  WarmPoolState pool;
  pool.active = 24;
  pool.working_set = {312'000};
  pool.capacity = {136'000};
  pool.fit = 13;
  EXPECT_EQ(advice(pool), "working set 312k tokens, cache 136k: 13 sessions fit, 24 are active; fp8 KV would fit 26");
  pool.kv_is_8_bit = true;
  EXPECT_EQ(advice(pool), "working set 312k tokens, cache 136k: 13 sessions fit, 24 are active");
  pool.fit = 30;
  EXPECT_EQ(advice(pool), "working set 312k tokens, cache 136k: 30 sessions fit, 24 are active");
  pool.keeps_prefixes = false;
  EXPECT_NE(advice(pool).find("keeps prefixes"), std::string::npos);
  pool.keeps_prefixes = true;
  pool.capacity = {};
  EXPECT_NE(advice(pool).find("kv_tokens"), std::string::npos);
  EXPECT_EQ(advice({}), "no session is active");
}

}  // namespace wg::fleet
