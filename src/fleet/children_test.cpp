// What a session's seat is worth while its sub-agents work.
#include "fleet/children.h"

#include "fleet/warm_test_world.h"

namespace wg::fleet {

namespace {
constexpr std::uint64_t parent = 1, title = 1'000'001;

struct Family : WarmWorld {
  using WarmWorld::WarmWorld;

  RequestId agent(std::uint64_t session, std::uint64_t of = parent, std::int64_t prompt = 4'000) {
    RequestArrived event;
    event.session = event.lineage = key(session);
    event.parent = key(of);
    event.kind = RequestClass::sub_agent;
    event.head = key(777);
    event.prompt_estimate = {prompt};
    event.request = ++last;
    turns[last] = {session, prompt, no_replica, d.now, {}, false, "", true};
    step(event);
    return last;
  }
  // A whole turn of the parent's, alone; its answer calls a tool.
  RequestId turn(std::int64_t prompt, std::int64_t cached, std::uint64_t session = parent) {
    const RequestId id = arrive(session, prompt);
    pass(prompt - cached > 2'000 ? 2s : 200ms);
    finish(id, cached);
    return id;
  }
  // Knows its machine, and that this client's tools take a second.
  void warm_up() {
    for (int i = 0; i < 8; ++i) {
      turn(9'000 + 300 * i, i == 0 ? 0 : 8'800 + 300 * i);
      pass(1s);
    }
  }
  bool sits(std::uint64_t session) const {
    for (const LineageState& its : d.fleet.lineages(key(session), d.now))
      if (its.key == key(session)) return its.seat_held_s > 0;
    return false;
  }
  LineageState state(std::uint64_t session) const {
    for (const LineageState& its : d.fleet.lineages(key(session), d.now))
      if (its.key == key(session)) return its;
    ADD_FAILURE() << "no lineage " << session;
    return {};
  }
  std::uint32_t under_way(std::uint64_t session) const {
    for (const SessionState& its : d.fleet.sessions(1'000))
      if (its.key == key(session)) return its.sub_agents;
    return 0;
  }
};
}  // namespace

TEST(Children, AreCountedFromArrivalToEnd) {
  Children children;
  EXPECT_EQ(children.of(key(1)), 0u);
  children.arrived(key(1));
  children.arrived(key(1));
  children.arrived(key(2));
  EXPECT_EQ(children.of(key(1)), 2u);
  children.ended(key(1));
  children.ended(key(2));
  EXPECT_EQ(children.of(key(1)), 1u);
  EXPECT_EQ(children.parents(), 1u) << "who has none is not kept";
  const BugWatch bugs;
  children.ended(key(3));
  EXPECT_EQ(bugs.seen(), 1u);
}

TEST(Children, AParentThatCallsAToolKeepsItsSeat) {
  Family w(1);
  w.warm_up();
  w.turn(12'000, 11'000);
  EXPECT_TRUE(w.sits(parent));
  EXPECT_LT(w.state(parent).expected_pause_s, 5);
}

// The first of them comes after the parent's answer: what was held for a tool is not held for minutes.
TEST(Children, TheFirstThatComesTakesTheSeatThatIsHeldForTheParent) {
  Family w(1);
  w.warm_up();
  w.turn(12'000, 11'000);
  w.pass(100ms);
  const RequestId child = w.agent(50);
  EXPECT_FALSE(w.sits(parent));
  EXPECT_GT(w.state(parent).expected_pause_s, 60);
  EXPECT_EQ(w.state(parent).waits_for, WaitsFor::sub_agents);
  EXPECT_EQ(w.under_way(parent), 1u);
  w.finish(child, 0);
  EXPECT_EQ(w.under_way(parent), 0u);
}

TEST(Children, UnderWayWhenTheParentsTurnEndsTheyAreWaitedForToo) {
  Family w(2);
  w.warm_up();
  const RequestId own = w.arrive(parent, 12'000);
  const RequestId child = w.agent(50);
  w.pass(200ms);
  w.finish(own, 11'000);
  EXPECT_FALSE(w.sits(parent));
  EXPECT_EQ(w.state(parent).waits_for, WaitsFor::sub_agents);
  w.finish(child, 0);
}

// What comes back within seconds whatever its agents do is worth its seat once that has been seen.
TEST(Children, TheirPauseIsLearntApartFromThatOfTools) {
  Family w(1);
  w.warm_up();
  std::int64_t context = 12'000;
  for (int i = 0; i < 40; ++i) {
    w.turn(context, i == 0 ? 11'000 : context - 300);
    const RequestId child = w.agent(100 + static_cast<std::uint64_t>(i), parent, 500);
    w.pass(200ms);
    w.finish(child, 0, AnswerEnd::turn, 20);
    w.pass(300ms);
    context += 30;
  }
  w.turn(context, context - 300);
  EXPECT_TRUE(w.sits(parent));
  const RequestId child = w.agent(900, parent, 500);
  EXPECT_LT(w.state(parent).expected_pause_s, 10);
  EXPECT_TRUE(w.sits(parent)) << "valued anew, and kept";
  w.finish(child, 0);
}

TEST(Children, ATitleCallBesideTheConversationWaitsForNobody) {
  Family w(1);
  w.warm_up();
  const RequestId aside = w.arrive(parent, 1'000, RequestClass::background);
  w.pass(200ms);
  w.finish(aside, 0, AnswerEnd::turn);
  const RequestId child = w.agent(50);
  bool found = false;
  for (const LineageState& its : w.d.fleet.lineages(key(parent), w.d.now)) {
    if (its.key != key(title)) continue;
    found = true;
    EXPECT_EQ(its.waits_for, WaitsFor::person);
  }
  EXPECT_TRUE(found);
  w.finish(child, 0);
}

// Of a parent whose own turn is under way nothing changes until it ends.
TEST(Children, ThatCameAndWentBeforeTheParentsTurnEndedAreNotWaitedFor) {
  Family w(2);
  w.warm_up();
  const RequestId own = w.arrive(parent, 12'000);
  const RequestId child = w.agent(50);
  w.pass(200ms);
  w.finish(child, 0);
  w.finish(own, 11'000);
  EXPECT_TRUE(w.sits(parent));
  EXPECT_EQ(w.state(parent).waits_for, WaitsFor::tool);
}

// However they end: answered, left in the queue, left in an engine, failed, tried elsewhere, of a parent that is not
// known.
TEST(Children, NoneIsLeftWhateverBecomesOfThem) {
  Family w(2);
  w.turn(9'000, 0);
  std::vector<RequestId> all;
  for (std::uint64_t n = 0; n < 12; ++n) all.push_back(w.agent(50 + n, n % 3 == 0 ? 9'999 : parent, 15'000));
  EXPECT_EQ(w.under_way(parent), 8u);
  ASSERT_GT(w.waiting(), 0u);
  w.step(AttemptFailed{all[1], Failure::busy});
  w.step(AttemptFailed{all[2], Failure::reset_before_head});
  for (int round = 0; round < 200 && !w.turns.empty(); ++round) {
    w.pass(300ms);
    const auto [id, its] = *w.turns.begin();
    if (round % 3 == 0) {
      w.leave(id);
    } else if (its.at != no_replica && round % 3 == 1) {
      w.finish(id, 0);
    } else {
      w.turns.erase(id);
      w.step(Finished{id, its.at == no_replica ? Outcome::refused_by_us : Outcome::failed});
    }
  }
  EXPECT_EQ(w.under_way(parent), 0u);
  EXPECT_EQ(w.d.fleet.parents_waiting(), 0u);
  EXPECT_EQ(w.d.in_flight(), 0u);
}

// Nobody types to a sub-agent: with an answer that calls no tool its work is done.
TEST(Children, ASubAgentThatHasAnsweredHoldsNothing) {
  for (const AnswerEnd end : {AnswerEnd::tool_call, AnswerEnd::turn}) {
    Family w(1);
    w.warm_up();
    std::int64_t prompt = 9'000;
    for (int i = 0; i < 12; ++i, prompt += 300) {
      w.pass(200ms);
      const RequestId child = w.agent(50, parent, prompt);
      w.pass(i == 0 ? 2s : 200ms);
      w.finish(child, i == 0 ? 0 : prompt - 300, i < 11 ? AnswerEnd::tool_call : end);
    }
    EXPECT_EQ(w.sits(50), end == AnswerEnd::tool_call);
    // Another conversation, with the same pauses, is expected of a person; the sub-agent is not expected at all.
    EXPECT_EQ(w.state(50).waits_for, end == AnswerEnd::turn ? WaitsFor::nothing : WaitsFor::tool);
  }
}

// What is freed goes to who waits for it, at once.
TEST(Children, WhoWaitsGetsTheParentsRoom) {
  Family w(1);
  w.warm_up();
  w.turn(12'000, 11'000);
  const RequestId other = w.arrive(2, 16'000);
  w.pass(50ms);
  ASSERT_TRUE(w.waits(other)) << "the parent's seat is held for a tool";
  w.agent(50, parent, 100);
  EXPECT_FALSE(w.waits(other));
}

}  // namespace wg::fleet
