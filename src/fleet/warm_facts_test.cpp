// What `warm` makes of engines that tell too little, too much, or keep nothing.
#include <gtest/gtest.h>

#include <set>

#include "core/rng.h"
#include "fleet/warm_test_world.h"

namespace wg::fleet {

namespace {
// One engine, which tells this of itself.
struct Told : WarmWorld {
  explicit Told(std::optional<Tokens> kv, std::optional<bool> caching = {}, std::uint32_t engines = 1)
      : WarmWorld(engines) {
    for (EngineIndex e = 0; e < engines; ++e) step(EngineFound{e, {}, "model", 1, true, 32, kv, caching});
  }
  // A whole turn, alone; `cached` as the engine tells it.
  RequestId turn(std::uint64_t session, std::int64_t prompt, std::int64_t cached) {
    const RequestId id = arrive(session, prompt);
    pass(prompt - cached > 2'000 ? 2s : 200ms);
    finish(id, cached);
    pass(300ms);
    return id;
  }
  // How often it was said that nothing is ever found there.
  std::size_t doubts() const {
    return static_cast<std::size_t>(std::count_if(notes.begin(), notes.end(), [](const Note& note) {
      return note.what == Note::What::cache_doubted && std::string_view(note.rule).starts_with("nothing is ever");
    }));
  }
};
}  // namespace

TEST(WarmFacts, AnEngineWithoutPrefixCacheHasNoSeatsAndTurnsGoByLoad) {
  Told w(Tokens{34'000}, false, 3);
  EXPECT_FALSE(w.warm(0).keeps_prefixes);
  std::set<ReplicaIndex> used;
  for (int i = 0; i < 3; ++i) {  // three at a time: one each, whoever was where before
    std::vector<RequestId> open;
    for (std::uint64_t session = 1; session <= 3; ++session) open.push_back(w.arrive(session, 8'000));
    for (const RequestId id : open) {
      EXPECT_FALSE(w.waits(id));
      used.insert(w.at(id));
    }
    EXPECT_EQ(used.size(), 3u);
    for (const RequestId id : open) w.finish(id, 0);
    for (ReplicaIndex r = 0; r < 3; ++r) EXPECT_EQ(w.warm(r).seats, 0u) << "held for nobody";
  }
  EXPECT_EQ(w.doubts(), 0u) << "it was told: the gateway warns by itself";
}

TEST(WarmFacts, OneThatNeverHitsIsFoundOutAndSaidOnce) {
  Told w(Tokens{34'000});
  for (int i = 0; i < 60; ++i) w.turn(1, 8'000 + i, 0);
  EXPECT_FALSE(w.warm(0).keeps_prefixes);
  EXPECT_EQ(w.warm(0).seats, 0u);
  EXPECT_EQ(w.doubts(), 1u);
  w.turn(1, 9'000, 8'000);
  EXPECT_TRUE(w.warm(0).keeps_prefixes) << "a hit tells that it does";
  EXPECT_EQ(w.warm(0).seats, 1u);
}

// Short answers from a warm cache: a quantum of thousands of turns, and growth in each. 25k tokens x 16 in a million.
TEST(WarmFacts, NobodyWaitsBecauseOfAnEngineThatAnswersAtOnce) {
  Told w(Tokens{1'000'000});
  for (int turn = 0; turn < 20; ++turn) {
    std::vector<RequestId> open;
    for (std::uint64_t session = 1; session <= 16; ++session) {
      open.push_back(w.arrive(session, 20'000 + 500 * turn));
      ASSERT_FALSE(w.waits(open.back())) << turn;
      w.first_content(open.back());
    }
    for (const RequestId id : open) {
      w.pass(300us);
      w.finish(id, turn == 0 ? 0 : 19'500 + 500 * turn);
    }
  }
  EXPECT_LE(w.warm(0).seat_tokens.count, 1'000'000);
}

TEST(WarmFacts, CountersTellWhatAnswersDoNot) {
  Told w(Tokens{34'000});
  double queries = 500, hits = 100;
  const auto look = [&] { w.step(ReplicaSampled{0, 0, 0, 0, 0.1, queries, hits, 0}); };
  look();
  for (int i = 0; i < 30; ++i) {
    const std::int64_t prompt = 8'000 + 400 * i, cached = i == 0 ? 0 : prompt - 600;
    const RequestId id = w.arrive(1, prompt);
    w.first_content(id);
    queries += static_cast<double>(prompt);
    hits += static_cast<double>(cached);
    w.pass(1s);
    look();
    w.step(UsageReported{id, {prompt}, {}, {200}, true, false, AnswerEnd::tool_call, 0});
    w.turns.erase(id);
    w.step(Finished{id, Outcome::ok});
    w.pass(300ms);
    look();
  }
  const WarmReplicaState state = w.warm(0);
  EXPECT_EQ(state.told_by_answer, 0u);
  EXPECT_EQ(state.told_by_counters, 30u);
  EXPECT_GT(state.hits_expected, 25u);
  EXPECT_EQ(state.hits_missed, 0u);
  EXPECT_GT(state.hit_service_s, 0);
}

TEST(WarmFacts, AnEngineThatBeganAnewHasNothing) {
  Told w(Tokens{34'000});
  w.step(ReplicaSampled{0, 0, 0, 0, 0.1, 90'000, 50'000, 0});
  w.turn(1, 8'000, 0);
  EXPECT_GT(w.warm(0).shadow_tokens.count, 0);
  w.step(ReplicaSampled{0, 0, 0, 0, 0.1, 0, 0, 0});
  EXPECT_EQ(w.warm(0).shadow_tokens.count, 0);
}

// Eight sessions take turns in a cache that keeps the last four contexts, and nobody tells how large it is.
TEST(WarmFacts, ASizeThatNobodyTellsIsLearnt) {
  Told w(std::nullopt);
  EXPECT_FALSE(w.warm(0).capacity);
  Rng rng(5);
  std::vector<std::uint64_t> cache;  // the latest last
  for (int i = 0; i < 300; ++i) {
    const auto session = static_cast<std::uint64_t>(rng.between(1, 8));
    const auto there = std::find(cache.begin(), cache.end(), session);
    w.turn(session, 8'000, there != cache.end() ? 7'900 : 0);
    if (there != cache.end()) cache.erase(there);
    cache.push_back(session);
    if (cache.size() > 4) cache.erase(cache.begin());
  }
  const WarmReplicaState state = w.warm(0);
  ASSERT_TRUE(state.capacity);
  EXPECT_TRUE(state.is_learnt);
  EXPECT_GT(state.capacity->count, 4 * 8'000 * 7 / 10);
  EXPECT_LT(state.capacity->count, 5 * 8'200 * 12 / 10);
}

TEST(WarmFacts, TheSafetyNetTakesWhatIsToldForLessAndRecordsIt) {
  for (const bool in_force : {true, false}) {
    WarmRules rules;
    rules.safety_net = in_force;
    WarmWorld w(1, rules);
    // Two residents, each of which finds the head only: somebody else uses the cache.
    for (int i = 0; i < 60; ++i)
      for (std::uint64_t session = 1; session <= 2; ++session) {
        const RequestId id = w.arrive(session, 9'000);
        w.pass(300ms);
        w.finish(id, 3'500);
        w.pass(200ms);
      }
    const WarmReplicaState state = w.warm(0);
    EXPECT_EQ(state.share < 1, in_force);
    EXPECT_EQ(state.steps_down > 0, in_force);
    EXPECT_EQ(state.told, Tokens{WarmWorld::capacity});
    EXPECT_EQ(*state.capacity < *state.told, in_force);
    const auto doubts = std::count_if(w.notes.begin(), w.notes.end(),
                                      [](const Note& note) { return note.what == Note::What::cache_doubted; });
    EXPECT_EQ(static_cast<std::uint64_t>(doubts), state.steps_down);
    const auto decided = std::find_if(w.notes.rbegin(), w.notes.rend(),
                                      [](const Note& note) { return note.what == Note::What::decision; });
    EXPECT_EQ(decided->candidates.at(0).capacity < Tokens{WarmWorld::capacity}, in_force);
  }
}

// Sessions of one turn: nothing of them is kept beyond what the cache can hold, and no seat.
TEST(WarmFacts, AFloodOfOneTurnSessionsLeavesNothingBehind) {
  for (const auto kv : {std::optional<Tokens>{}, std::optional<Tokens>{Tokens{34'000}}}) {
    Told w(kv);
    for (std::uint64_t session = 1; session <= 30'000; ++session) {
      const RequestId id = w.arrive(session, 900);
      w.pass(3ms);
      ASSERT_FALSE(w.waits(id));
      w.finish(id, 0, AnswerEnd::turn);
    }
    w.pass(10s);
    EXPECT_EQ(w.warm(0).seats, 0u);
    EXPECT_LE(w.warm(0).copies, 4'097u);
    EXPECT_EQ(w.d.fleet.requests_known(), 0u);
  }
}

namespace {
RequestArrived asked(std::uint64_t session, std::uint64_t head, std::int64_t prompt) {
  RequestArrived event;
  event.session = key(session);
  event.lineage = key(session * 1'000 + head);
  event.head = key(head);
  event.prompt_estimate = {prompt};
  return event;
}
// A whole turn, with time to read what is not cached.
ReplicaIndex whole_turn(WarmWorld& w, RequestArrived event, std::int64_t cached) {
  event.request = ++w.last;
  w.turns[w.last] = {0, event.prompt_estimate.count, no_replica, w.d.now, {}, false, "", true};
  w.step(event);
  const RequestId id = w.last;
  const ReplicaIndex at = w.at(id);
  w.pass(50ms + std::chrono::microseconds(250 * (event.prompt_estimate.count - cached)));
  w.finish(id, cached);
  w.pass(100ms);
  return at;
}
}  // namespace

// The end of a session is told with its last turn: its seats, also that of a title call, are free at once.
TEST(WarmFacts, AReleasedSessionHoldsNothing) {
  for (const bool by_header : {true, false}) {
    WarmWorld w(1);
    RequestArrived last = asked(1, 42, 9'000);
    whole_turn(w, asked(1, 42, 8'000), 0);
    whole_turn(w, asked(1, 43, 2'000), 0);
    EXPECT_EQ(w.warm(0).seats, 2u);
    last.ends_session = by_header;
    whole_turn(w, last, 8'000);
    if (!by_header) w.step(SessionReleased{0, key(1)});
    EXPECT_EQ(w.warm(0).seats, 0u);
    EXPECT_EQ(w.warm(0).seat_tokens, Tokens{});
    EXPECT_EQ(w.d.fleet.sessions_known(), 0u);
    EXPECT_EQ(w.d.fleet.warm_pool(0, w.d.now).active, 0u);
    EXPECT_EQ(whole_turn(w, asked(1, 42, 9'500), 9'000), 0u) << "if it comes again after all, it is a new one";
  }
}

// A sub-agent's prompt begins with its parent's tools: it goes where these are, if nothing else is dearer there.
TEST(WarmFacts, ASubAgentWeighsWhatItSharesWithItsParent) {
  WarmWorld w(3);
  const ReplicaIndex home = whole_turn(w, asked(1, 42, 20'000), 0);
  // The head becomes known: other sessions of it find it where it had been.
  ReplicaIndex at = no_replica;
  for (std::uint64_t session = 20; at != home && session < 40; ++session) {
    w.pass(60s);
    RequestArrived event = asked(session, 42, 21'000);
    event.request = ++w.last;
    w.turns[w.last] = {session, 21'000, no_replica, w.d.now, {}, false, "", true};
    w.step(event);
    at = w.at(w.last);
    w.pass(at == home ? 1500ms : 5s);
    w.finish(w.last, at == home ? 15'000 : 0);
  }
  ASSERT_EQ(at, home);
  w.pass(60s);
  RequestArrived agent = asked(7, 77, 12'000);
  agent.parent = key(1);
  agent.kind = RequestClass::sub_agent;
  EXPECT_EQ(whole_turn(w, agent, 3'000), home);
  const auto decided = std::find_if(w.notes.rbegin(), w.notes.rend(),
                                    [](const Note& note) { return note.what == Note::What::decision; });
  for (const policy::Candidate& c : decided->candidates)
    EXPECT_EQ(c.cached.count > 0, c.replica == home) << "a fifth of its parent's head";
}

TEST(WarmFacts, PromptsAreEstimatedByWhatAByteWasWorth) {
  WarmWorld w(1);
  const auto need_of = [&](std::uint64_t session, std::int64_t bytes) {
    RequestArrived event = asked(session, 42, bytes / 4);
    event.text_bytes = bytes;
    event.dialect = 2;
    event.ends_session = true;
    event.request = ++w.last;
    w.turns[w.last] = {session, bytes / 2, no_replica, w.d.now, {}, false, "", true};
    const Tokens before = w.warm(0).seat_tokens;
    w.step(event);
    const Tokens taken = w.warm(0).seat_tokens - before;
    w.pass(1s);
    w.finish(w.last, 0);  // the engine counts a token for two bytes
    w.pass(200s);
    return taken.count;
  };
  EXPECT_LT(need_of(1, 8'000), 3'000);
  for (std::uint64_t session = 2; session <= 20; ++session) need_of(session, 8'000);
  EXPECT_NEAR(static_cast<double>(need_of(50, 8'000)), 4'000 + 200, 300);
  const WarmPoolState pool = w.d.fleet.warm_pool(0, w.d.now);
  ASSERT_EQ(pool.ratios.size(), 1u);
  EXPECT_EQ(pool.ratios[0].dialect, 2u);
  EXPECT_NEAR(pool.ratios[0].tokens_per_byte, 0.5, 0.03);
  EXPECT_EQ(pool.ratios[0].samples, 21u);
}

}  // namespace wg::fleet
