// What a real gateway meets in months: clients with a new key for each turn, by the thousand, and clocks that jump.
#include "fleet/warm_test_world.h"

namespace wg::fleet {

TEST(WarmHardTimes, ThousandsOfOneTurnSessionsLeaveNothing) {
  WarmWorld w(2);
  BugWatch bugs;
  const RequestId first = w.arrive(1, 10'000);
  const ReplicaIndex home = w.at(first);
  w.finish(first, 0);
  std::size_t waited = 0;
  for (std::uint64_t n = 0; n < 20'000; ++n) {
    const RequestId once = w.arrive(1'000 + n, 6'000);
    w.pass(100ms);
    if (w.waits(once)) {
      ++waited;
      w.pass(30s);
    }
    ASSERT_FALSE(w.waits(once)) << n;
    w.finish(once, 0, AnswerEnd::turn);
    if (n % 20 != 0) continue;
    const RequestId turn = w.arrive(1, 10'000 + static_cast<std::int64_t>(n / 20));
    ASSERT_FALSE(w.waits(turn)) << "there is room for both";
    w.finish(turn, 9'000);
  }
  EXPECT_EQ(waited, 0u);
  EXPECT_LE(w.d.fleet.sessions_known(), Driver::spec_of(2, policy::PolicyName::warm).session_limit);
  EXPECT_EQ(w.d.home(1), home) << "it was never worth moving";
  EXPECT_LE(w.warm(0).copies + w.warm(1).copies, 20u) << "the ledger knows what fits, not all that ever was";
  w.pass(1h);
  const RequestId last = w.arrive(2, 1'000);
  w.finish(last, 0, AnswerEnd::turn);
  EXPECT_EQ(w.waiting(), 0u);
  EXPECT_EQ(w.d.fleet.requests_known(), 0u);
  EXPECT_EQ(bugs.seen(), 0u);
}

// What a broken engine (or a proxy before it) may report as usage.
TEST(WarmHardTimes, CountsThatNoEngineCanMeanKeepNobodyOut) {
  constexpr std::int64_t none = 0, minus = -5, huge = 1'000'000'000'000'000;
  struct Usage {
    std::int64_t prompt, cached, output;
  };
  for (const Usage& said :
       {Usage{2'500, none, huge}, Usage{huge, huge, huge}, Usage{huge, none, 10}, Usage{100, huge, 5},
        Usage{none, none, none}, Usage{minus, minus, minus}, Usage{2'500, none, 40'000}}) {
    WarmWorld w(1);
    BugWatch bugs;
    for (std::uint64_t session = 1; session <= 3; ++session) {
      const RequestId request = w.arrive(session, 2'500);
      ASSERT_FALSE(w.waits(request)) << said.prompt << " " << said.output;
      w.first_content(request);
      w.step(UsageReported{request, {said.prompt}, {said.cached}, {said.output}, true, true, AnswerEnd::tool_call, 0});
      w.turns.erase(request);
      w.step(Finished{request, Outcome::ok});
    }
    for (std::uint64_t session = 11; session <= 13; ++session) {
      const RequestId request = w.arrive(session, 2'500);
      EXPECT_FALSE(w.waits(request)) << said.prompt << " " << said.output;
      w.first_content(request);
    }
    EXPECT_LE(w.warm(0).seat_tokens.count, WarmWorld::capacity);
    EXPECT_EQ(bugs.seen(), 0u);
  }
}

// The machine slept, or was stopped by a debugger: hours pass between two events.
TEST(WarmHardTimes, AJumpForwardEndsHoldsAndLosesNobody) {
  WarmWorld w(1);
  BugWatch bugs;
  std::vector<RequestId> filled;
  for (std::uint64_t s = 1; s <= 3; ++s) filled.push_back(w.arrive(s, 10'000));
  for (const RequestId request : filled) w.first_content(request);
  const RequestId waiter = w.arrive(9, 10'000), later = w.arrive(10, 10'000);
  w.finish(filled[0], 0);
  w.d.now += 10h;
  w.finish(filled[1], 0);
  EXPECT_FALSE(w.waits(waiter)) << "the seats of ten hours ago are nobody's";
  const RequestId back = w.arrive(1, 10'500);  // after a pause of ten hours
  w.finish(filled[2], 0, AnswerEnd::turn);
  for (const RequestId request : {waiter, later, back}) {
    for (int round = 0; round < 10 && w.waits(request); ++round) w.pass(10s);
    ASSERT_FALSE(w.waits(request));
    w.finish(request, 0, AnswerEnd::turn);
  }
  EXPECT_EQ(w.waiting(), 0u);
  EXPECT_EQ(bugs.seen(), 0u);
}

// The live clock is steady, but a recording or a driver may go back: the fleet's time then stands still.
TEST(WarmHardTimes, AJumpBackStandsStill) {
  WarmWorld w(1);
  BugWatch bugs;
  w.pass(1h);
  std::vector<RequestId> filled;
  for (std::uint64_t s = 1; s <= 3; ++s) filled.push_back(w.arrive(s, 10'000));
  for (const RequestId request : filled) w.first_content(request);
  const RequestId waiter = w.arrive(9, 10'000);
  w.d.now -= 30min;
  w.timers.clear();  // their times are far away now
  w.finish(filled[0], 0, AnswerEnd::turn);
  EXPECT_FALSE(w.waits(waiter));
  for (const RequestId request : {filled[1], filled[2], waiter}) w.finish(request, 0, AnswerEnd::turn);
  const WarmReplicaState state = w.warm(0);
  EXPECT_GE(state.backlog_s, 0);
  EXPECT_GE(state.hit_service_s, 0);
  EXPECT_GT(state.prefill_tokens_per_s, 0);
  EXPECT_EQ(state.seat_tokens.count, 0);
  EXPECT_EQ(bugs.seen(), 0u);
}

// A restart that no probe saw: the counters begin anew.
TEST(WarmHardTimes, ARestartThatTheCountersShowIsCounted) {
  WarmWorld w(1);
  w.step(ReplicaSampled{0, 0, 0, 0, 0.1, 500, 100, 0});
  w.finish(w.arrive(1, 10'000), 0);
  w.step(ReplicaSampled{0, 0, 0, 0, 0.1, 10'500, 100, 0});
  EXPECT_EQ(w.warm(0).emptied, 0u);
  EXPECT_EQ(w.warm(0).copies, 1u);
  w.step(ReplicaSampled{0, 0, 0, 0, 0.1, 0, 0, 0});
  EXPECT_EQ(w.warm(0).emptied, 1u);
  EXPECT_EQ(w.warm(0).copies, 0u);
}

// An engine refuses what is longer than its context: with 400, at once. Nothing of it was read, whatever its size was
// taken for, and its next turn is no sooner expected for that.
TEST(WarmHardTimes, WhatTheEngineRefusedHoldsNothing) {
  WarmWorld w(1);
  for (int i = 0; i < 8; ++i) {  // so that seats are worth holding
    const RequestId id = w.arrive(1, 9'000 + 300 * i);
    w.pass(i == 0 ? 2s : 200ms);
    w.finish(id, i == 0 ? 0 : 8'800 + 300 * i);
    w.pass(500ms);
  }
  w.pass(100s);
  const RequestId absurd = w.arrive(2, 1'000'000);
  ASSERT_FALSE(w.waits(absurd)) << "alone there";
  w.pass(10ms);
  w.turns.erase(absurd);
  w.step(Finished{absurd, Outcome::ok});  // the engine's 400: no first token, no usage
  EXPECT_EQ(w.warm(0).seats, 0u);
  EXPECT_EQ(w.warm(0).seat_tokens, Tokens{});
  EXPECT_EQ(w.warm(0).shadow_tokens, w.d.fleet.lineages(key(1), w.d.now).at(0).context) << "nothing of it is there";
  const LineageState its = w.d.fleet.lineages(key(2), w.d.now).at(0);
  EXPECT_EQ(its.context, Tokens{});
  EXPECT_EQ(its.turns, 0u) << "it has not begun";
  EXPECT_EQ(its.waits_for, WaitsFor::nothing);
  EXPECT_LT(w.d.fleet.warm_pool(0, w.d.now).working_set, Tokens{20'000});
  EXPECT_FALSE(w.waits(w.arrive(3, 10'000)));
}

}  // namespace wg::fleet
