#include "fleet/recording.h"

#include <gtest/gtest.h>

#include "core/rng.h"
#include "fleet/recorded_fields.h"

namespace wg::fleet {
namespace {

using std::chrono::milliseconds;

Spec small_spec() {
  Spec spec;
  spec.pools.push_back({"m\"1\\\n", policy::PolicyName::sticky, 3, true});
  spec.engines.push_back({"e0", 0});
  spec.session_limit = 77;
  return spec;
}

// One of each kind, every member unlike its default.
std::vector<Event> one_of_each() {
  return {EngineFound{0, 0, "m", 2, false, 32, Tokens{34'000}, false, true},
          EngineFound{0, std::nullopt, "m", 2, true, std::nullopt, std::nullopt},
          ReplicaSampled{0, 1, 2.5, 0.1, 1.0 / 3, 17, 16, 15},
          ProbeGood{0},
          ProbeBad{0, true},
          RequestArrived{7, 0, {1, 2}, {3, ~0ull}, {5, 6}, RequestClass::sub_agent, {900}, false, {7, 8}, true},
          AttemptFailed{7, Failure::busy},
          FirstByte{7},
          FirstContent{7},
          UsageReported{7, {900}, {100}, {20}, true, true},
          ResponseMade{7, {9, 10}},
          Finished{7, Outcome::client_gone},
          SessionReleased{0, {1, 2}},
          TimerFired{11},
          PolicyChanged{0, policy::PolicyName::hash, 4}};
}

std::string line_of(const Event& event) {
  std::string line;
  append_event(line, 1, TimePoint(milliseconds(5)), event);
  return line;
}

TEST(Recording, every_event_reads_back_as_it_was) {
  for (const Event& event : one_of_each()) {
    const auto read = read_recording(recording_head(small_spec()) + line_of(event));
    ASSERT_TRUE(read) << read.error().what << line_of(event);
    ASSERT_EQ(read->steps.size(), 1u);
    EXPECT_EQ(read->steps[0].at, TimePoint(milliseconds(5)));
    EXPECT_EQ(line_of(read->steps[0].event), line_of(event));
  }
}

TEST(Recording, the_spec_reads_back) {
  const auto read = read_recording(recording_head(small_spec()));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(recording_head(read->spec), recording_head(small_spec()));
  EXPECT_EQ(read->spec.pools[0].name, "m\"1\\\n");
  EXPECT_FALSE(read->has_end);
}

// What a fleet did once it does again, from what was written of it.
TEST(Recording, a_replay_has_the_same_digest) {
  Fleet first(small_spec());
  std::string text = recording_head(small_spec());
  Rng rng(1);
  TimePoint now{};
  std::uint64_t number = 0;
  const auto step = [&](const Event& event) {
    now += milliseconds(1 + rng.next() % 100);
    const Commands commands = first.step(event, now);
    append_event(text, ++number, now, event);
    if (!commands.empty()) append_decisions(text, number, first.digest(), commands);
  };
  step(EngineFound{0, 0, "m", 4, true, 32, Tokens{34'000}});
  step(ProbeGood{0});
  for (RequestId request = 1; request <= 200; ++request) {
    const SessionKey session{1 + rng.next() % 9, 1};
    step(RequestArrived{request, 0, session, session, {}, RequestClass::turn, {1'000}, true, {}, false});
    step(FirstContent{request});
    if (rng.next() % 3 > 0) step(Finished{request, Outcome::ok});
  }
  text += recording_end(number, first.digest());

  const auto read = read_recording(text);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_TRUE(read->has_end);
  EXPECT_EQ(read->digest, first.digest());
  Fleet again(read->spec);
  for (const RecordedStep& one : read->steps) {
    const Commands commands = again.step(one.event, one.at);
    ASSERT_EQ(one.digest.has_value(), !commands.empty());
    if (one.digest) {
      ASSERT_EQ(again.digest(), *one.digest) << "line " << one.line;
    }
    for (std::size_t i = 0; i < commands.size(); ++i) EXPECT_EQ(words_of(commands[i]), one.decisions[i]);
  }
  EXPECT_EQ(again.digest(), first.digest());
}

TEST(Recording, lost_events_are_found_where_they_are_missing) {
  std::string text = recording_head(small_spec());
  append_event(text, 1, {}, ProbeGood{0});
  append_event(text, 5, {}, ProbeGood{0});
  const auto read = read_recording(text + recording_end(5, 1));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->steps.size(), 1u);
  EXPECT_EQ(read->lost_after, 1u);
  EXPECT_EQ(read->lost, 3u);
}

TEST(Recording, what_is_wrong_is_said_with_its_line) {
  const std::string head = recording_head(small_spec());  // four lines
  const struct {
    std::string text, error;
  } rows[] = {
      {"", "line 1: the file is empty"},
      {"hello\n", "line 1: no whole JSON array"},
      {"[\"other\",1]\n", "line 1: this is no recording of warmgate"},
      {"[\"warmgate-recording\",9]\n", "line 1: a recording of version 9; this program reads version 2"},
      {head + "[1,0,\"probe-good\",0]", "line 5: it is cut off: the file ends in the middle of it"},
      {head + "[1,0,\"probe-go", "line 5: it is cut off: the file ends in the middle of it"},
      {head + "[1,0,\"probe-good\"]\n", "line 5: it has fewer values than such a line has"},
      {head + "[1,0,\"probe-good\",0,0]\n", "line 5: it has more values than such a line has"},
      {head + "[1,0,\"probe-good\",-1]\n", "line 5: value 4 cannot be '-1'"},
      {head + "[1,0,\"probe-good\",7]\n", "line 5: it names an engine or a pool that the recording does not have"},
      {head + "[1,0,\"unheard\",0]\n", "line 5: there is no event 'unheard'"},
      {head + "[1,9,\"probe-good\",0]\n[2,8,\"probe-good\",0]\n", "line 6: its time lies before the last one's"},
      {head + "[1,9,\"probe-good\",0]\n[\"=\",1,\"zz\"]\n", "line 6: value 3 cannot be 'zz'"},
      {head + "[1,9,\"probe-good\",0]\n\x01\x02\n", "line 6: no whole JSON array"},
  };
  for (const auto& row : rows) {
    const auto read = read_recording(row.text);
    ASSERT_FALSE(read) << row.text;
    EXPECT_EQ(read.error().what, row.error);
  }
}

}  // namespace
}  // namespace wg::fleet
