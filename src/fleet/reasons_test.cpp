// Why a turn waited, as the record of its decision says.
#include "fleet/warm_test_world.h"

namespace wg::fleet {

namespace {
struct Told : WarmWorld {
  using WarmWorld::WarmWorld;
  std::string_view waited_for(RequestId request) const {
    for (const Note& note : notes)
      if (note.request == request && note.what == Note::What::decision) return note.waited_for;
    ADD_FAILURE() << "not decided";
    return {};
  }
  // A turn whose seat is held behind it.
  void residents_turn(std::uint64_t session, std::int64_t prompt, std::int64_t cached) {
    const RequestId id = arrive(session, prompt);
    pass(prompt - cached > 2'000 ? 2s : 200ms);
    finish(id, cached);
  }
};
}  // namespace

TEST(Reasons, ANewOneThatDoesNotFitWaitedBecauseItWasNew) {
  Told w(1);
  const RequestId large = w.arrive(1, 30'000), late = w.arrive(2, 20'000);
  EXPECT_EQ(w.waited_for(large), "") << "it did not wait";
  w.pass(3s);
  w.finish(large, 0, AnswerEnd::turn);
  ASSERT_FALSE(w.waits(late));
  EXPECT_EQ(w.waited_for(late), "it was new");
}

TEST(Reasons, OneWhoseHoldIsOverWaitedBecauseNoSeatWasHeld) {
  Told w(1);
  w.residents_turn(1, 10'000, 0);
  w.pass(200s);
  const RequestId large = w.arrive(2, 30'000);
  w.pass(1s);
  const RequestId back = w.arrive(1, 11'000);
  ASSERT_TRUE(w.waits(back));
  w.pass(3s);
  w.finish(large, 0, AnswerEnd::turn);
  ASSERT_FALSE(w.waits(back));
  EXPECT_EQ(w.waited_for(back), "no seat was held for it");
}

TEST(Reasons, OneThatServedItsQuantumWaitedBecauseOthersDid) {
  Told w(1);
  for (int turn = 0; turn < 60; ++turn) {
    w.residents_turn(1, 16'000 + 50 * turn, turn == 0 ? 0 : 15'900 + 50 * turn);
    w.pass(300ms);
  }
  const RequestId other = w.arrive(2, 20'000);
  ASSERT_TRUE(w.waits(other)) << "the seat of the first is held";
  RequestId next = w.arrive(1, 19'000);
  for (int turn = 0; turn < 60 && !w.waits(next); ++turn) {  // until the other has waited for long enough
    ASSERT_TRUE(w.waits(other));
    w.first_content(next);
    w.pass(1s);
    w.finish(next, 18'900);
    w.pass(300ms);
    next = w.arrive(1, 19'000);
  }
  ASSERT_FALSE(w.waits(other));
  ASSERT_TRUE(w.waits(next));
  w.pass(3s);
  w.finish(other, 0, AnswerEnd::turn);
  w.pass(1s);
  ASSERT_FALSE(w.waits(next));
  EXPECT_EQ(w.waited_for(next), "others waited, and its quantum was over");
}

TEST(Reasons, OneWithAContextElsewhereWaitedForItsHome) {
  Told w(2);
  w.residents_turn(1, 16'000, 0);
  w.pass(200s);
  std::vector<RequestId> filling{w.arrive(2, 24'000), w.arrive(3, 24'000)};
  const ReplicaIndex home = w.d.fleet.lineages(key(1), w.d.now).at(0).home;
  if (w.at(filling[0]) == home) std::swap(filling[0], filling[1]);
  w.pass(6s);
  for (const RequestId id : filling) w.first_content(id);
  w.finish(filling[0], 0, AnswerEnd::turn);
  const RequestId back = w.arrive(1, 16'500);
  ASSERT_TRUE(w.waits(back)) << "home is full, and elsewhere it would be read as a whole";
  w.pass(10s);
  ASSERT_FALSE(w.waits(back)) << "not for longer than that takes";
  EXPECT_NE(w.at(back), home);
  EXPECT_EQ(w.waited_for(back), "its home was full, and reading all of it elsewhere takes longer");
}

TEST(Reasons, ARetryWaitedBecauseOfItsAttempt) {
  Told w(2);
  const RequestId lost = w.arrive(1, 10'000);
  const ReplicaIndex first = w.at(lost);
  const RequestId filling = w.arrive(2, 30'000);
  ASSERT_NE(w.at(filling), first);
  w.turns.at(lost).at = no_replica;
  w.notes.clear();
  w.pass(1s);
  w.step(AttemptFailed{lost, Failure::busy});
  ASSERT_TRUE(w.waits(lost));
  w.pass(3s);
  w.finish(filling, 0, AnswerEnd::turn);
  ASSERT_FALSE(w.waits(lost));
  EXPECT_EQ(w.waited_for(lost), "its attempt elsewhere had come to nothing");
}

// What is refused belongs to its session's decisions too.
TEST(Reasons, ARefusalNamesItsSession) {
  WarmRules rules;
  rules.max_wait = 2s;
  Told w(1, rules);
  w.arrive(1, 30'000);
  const RequestId late = w.arrive(2, 20'000);
  w.pass(3s);
  ASSERT_EQ(w.rejected.size(), 1u);
  const Note& note = w.notes.back();
  EXPECT_EQ(note.request, late);
  EXPECT_EQ(note.session, key(2));
  EXPECT_GE(note.waited, 2s);
  EXPECT_STREQ(note.waited_for, "it was new");
}

}  // namespace wg::fleet
