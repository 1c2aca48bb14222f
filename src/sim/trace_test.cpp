#include "sim/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/conversation.h"

namespace wg::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view good =
    R"({"session":"a","model":"m","system_tokens":800,"tool_tokens":1600,"turns":[[0,8000,80,0,1.5],[3.5,8800,160,8000,2],[60,9600,80,4000,2]]})"
    "\n"
    R"({"session":"a.0","parent":"a","after_turn":1,"system_tokens":80,"tool_tokens":0,"turns":[[0,1600,8,0,1]]})"
    "\n\n";

TEST(Trace, ReadsSessions) {
  const auto trace = read_trace(good);
  ASSERT_TRUE(trace) << trace.error().what;
  ASSERT_EQ(trace->sessions.size(), 2u);
  EXPECT_EQ(trace->sessions[0].head, 2'400);
  ASSERT_EQ(trace->sessions[0].turns.size(), 3u);
  EXPECT_EQ(trace->sessions[0].turns[1].think_s, 3.5);
  EXPECT_EQ(trace->sessions[0].turns[1].input, 8'800);
  EXPECT_EQ(trace->sessions[0].turns[2].kept, 4'000);
}

TEST(Trace, SaysWhichLineIsBroken) {
  const auto what = [](std::string line) {
    const auto trace = read_trace(R"({"turns":[[0,10,1,0,1]]})"
                                  "\n" +
                                  line + "\n");
    return trace ? std::string("nothing") : trace.error().what;
  };
  EXPECT_EQ(what(R"({"turns":[[0,10,1,0,1]]})"), "nothing");
  EXPECT_THAT(what(R"({"turns":[[0,10,1,0,1])"), StartsWith("line 2: "));
  EXPECT_EQ(what("[1]"), "line 2: it is no JSON object");
  EXPECT_EQ(what(R"({"turns":[]})"), "line 2: it has no turns");
  EXPECT_EQ(what(R"({"turns":[[0,10,1,0,1]],"speed":3})"),
            "line 2: unknown column 'speed'; known are session, model, system_tokens, tool_tokens, turns, parent, "
            "after_turn");
  EXPECT_THAT(what(R"({"turns":[[0,10,1,0]]})"), HasSubstr("turn 1 has 4 numbers instead of [think_s,"));
  EXPECT_THAT(what(R"({"turns":[[0,10,1,0,1,9]]})"), HasSubstr("turn 1 has 6 numbers"));
  EXPECT_EQ(what(R"({"turns":[[0,10,1,0,1],[0,-1,1,0,1]]})"), "line 2: turn 2: '-1' is no number from 0 to 1e9");
  EXPECT_EQ(what(R"({"turns":[[0,"ten",1,0,1]]})"), "line 2: turn 1: '\"ten\"' is no number from 0 to 1e9");
  EXPECT_EQ(what(R"({"turns":[[0,0,1,0,1]]})"), "line 2: turn 1 has no input tokens");
  EXPECT_THAT(what(R"({"turns":7})"), HasSubstr("turns must be a list"));
  EXPECT_THAT(what(R"({"turns":[3]})"), HasSubstr("turn 1 must be [think_s"));
  EXPECT_THAT(what(R"({"session":5,"turns":[[0,10,1,0,1]]})"), HasSubstr("session must be a text"));
  EXPECT_EQ(read_trace("\n\n").error().what, "there are no sessions in it");
}

Workload replay(std::string_view text, double scale) {
  Workload work;
  work.kind = WorkloadKind::trace;
  work.trace = std::make_shared<const Trace>(*read_trace(text));
  work.scale = scale;
  work.limit = {10'000};
  return work;
}

// A client's second session begins at the recorded one's first turn.
TEST(Trace, ASessionDoesWhatTheRecordedOneDid) {
  const std::string_view one = good.substr(0, good.find('\n'));
  const SessionPlan plan = session_of(replay(one, 0.125), 1, 0, 1);
  EXPECT_EQ(plan.who, WhoAsks::unknown);
  EXPECT_EQ(plan.head, 300);
  ASSERT_EQ(plan.turns.size(), 3u);
  EXPECT_EQ(plan.turns[0].added, 700);
  EXPECT_EQ(plan.turns[0].output, 10);
  EXPECT_EQ(to_seconds(plan.turns[0].pause), 3.5);
  EXPECT_EQ(plan.turns[1].keep, 1'010) << "the prompt was kept whole: so was the answer";
  EXPECT_EQ(plan.turns[1].added, 1'100 - 1'010);
  EXPECT_EQ(plan.turns[2].keep, 500) << "compacted";
  EXPECT_EQ(plan.turns[2].added, 1'200 - 500);
  EXPECT_EQ(plan.turns[1].then, WaitsFor::unknown);

  Conversation talk(16, 1, plan.head, plan.text);
  std::vector<std::int64_t> prompts;
  for (const TurnPlan& turn : plan.turns) {
    talk.rewind(turn.keep);
    talk.say(turn.added);
    prompts.push_back(talk.prompt().size().count);
    talk.hear(talk.answer_of(turn.output));
  }
  EXPECT_EQ(prompts, (std::vector<std::int64_t>{1'000, 1'100, 1'200}));
}

TEST(Trace, SameSeedSameSessions) {
  const Workload work = replay(good, 1);
  const SessionPlan a = session_of(work, 1, 3, 5), b = session_of(work, 1, 3, 5);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.turns.size(), b.turns.size());
  EXPECT_NE(a.text, session_of(work, 2, 3, 5).text);
}

TEST(Trace, TheFirstSessionsDoNotGoInStep) {
  std::string many = R"({"turns":[)";
  for (int i = 0; i < 40; ++i) many += (i ? "," : "") + std::string("[1,1000,10,0,1]");
  many += "]}";
  const Workload work = replay(many, 1);
  std::set<std::size_t> lengths;
  for (std::uint32_t client = 0; client < 20; ++client) lengths.insert(session_of(work, 1, client, 0).turns.size());
  EXPECT_GT(lengths.size(), 5u);
  EXPECT_GT(*lengths.begin(), 20u) << "not behind the first half";
  EXPECT_EQ(session_of(work, 1, 0, 1).turns.size(), 40u);
}

TEST(Trace, CutsToTheContext) {
  Workload work = replay(good, 1);
  work.limit = {8'500};
  EXPECT_DOUBLE_EQ(share_cut(work), 0.5);
  for (std::uint64_t n = 0; n < 20; ++n) {
    const SessionPlan plan = session_of(work, 1, 0, n);
    std::int64_t size = plan.head;
    for (const TurnPlan& turn : plan.turns) {
      size = std::min(size, turn.keep) + turn.added;
      EXPECT_LE(size + turn.output, 8'500);
      EXPECT_GE(turn.added, 1);
      size += turn.output;
    }
  }
}

TEST(Trace, PausesAreCapped) {
  Workload work = replay(good, 1);
  work.longest_pause = from_seconds(10);
  for (std::uint64_t n = 0; n < 10; ++n)
    for (const TurnPlan& turn : session_of(work, 1, 0, n).turns) EXPECT_LE(to_seconds(turn.pause), 10);
}

}  // namespace
}  // namespace wg::sim
