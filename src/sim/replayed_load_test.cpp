// From a recording to sessions, to an engine model, to a prediction.
#include "sim/replayed_load.h"

#include <gtest/gtest.h>

#include <cmath>

namespace wg::sim {
namespace {

constexpr double way_s = 0.1, prefill_per_s = 4'000, token_s = 0.03;
constexpr std::int64_t head = 1'000;

// Sessions one after the other, three turns each, on one engine of two ranks whose times follow a simple rule.
class Made {
 public:
  Made() {
    recording_.spec.pools.push_back({"m", policy::PolicyName::sticky, std::nullopt, false});
    recording_.spec.engines.push_back({"e0", 0});
    fleet_.emplace(recording_.spec);
    step(fleet::EngineFound{0, 0, "m", 2, true, 32, Tokens{20'000}});
    step(fleet::ProbeGood{0});
    for (std::uint64_t s = 1; s <= 6; ++s) session(s);
  }
  fleet::Recording take() { return std::move(recording_); }

 private:
  void pass(double seconds) { now_ += from_seconds(seconds); }
  void step(const fleet::Event& event) {
    fleet::RecordedStep& one = recording_.steps.emplace_back();
    one.number = recording_.steps.size();
    one.at = now_;
    one.event = event;
    if (!fleet_->step(event, now_).empty()) one.digest = fleet_->digest();
  }
  void session(std::uint64_t number) {
    std::int64_t context = 0;
    for (int turn = 0; turn < 3; ++turn) {
      const std::int64_t cached = turn > 0 ? context : number > 1 ? head : 0;
      const std::int64_t prompt = turn == 0 ? 3'000 + 200 * static_cast<std::int64_t>(number) : context + 300;
      const std::int64_t output = 50;
      const RequestId request = ++last_;
      step(fleet::RequestArrived{
          request, 0, {number, 1}, {number, 1}, {}, fleet::RequestClass::turn, {prompt}, true, {}, false});
      pass(way_s + static_cast<double>(prompt - cached) / prefill_per_s);
      step(fleet::FirstContent{request});
      pass(static_cast<double>(output - 1) * token_s);
      step(fleet::UsageReported{request, {prompt}, {cached}, {output}, true, true});
      step(fleet::Finished{request, fleet::Outcome::ok});
      context = prompt + output;
      pass(2);
    }
  }

  fleet::Recording recording_;
  std::optional<fleet::Fleet> fleet_;
  TimePoint now_{};
  RequestId last_ = 0;
};

TEST(RecordedLoad, sessions_and_how_it_went) {
  const RecordedLoad load = load_of(Made().take());
  ASSERT_EQ(load.sessions.size(), 6u);
  EXPECT_EQ(load.left_out, 0u);
  for (const RecordedSession& session : load.sessions) {
    ASSERT_EQ(session.turns.size(), 3u);
    EXPECT_TRUE(session.turns[1].was_alone);
    EXPECT_NEAR(to_seconds(session.turns[1].arrived - session.turns[0].ended), 2, 1e-6);
    EXPECT_EQ(session.turns[2].cached, session.turns[2].prompt - Tokens{300});
  }
  EXPECT_EQ(load.as_it_was.turns, 18);
  EXPECT_EQ(load.as_it_was.failures, 0);
  EXPECT_EQ(load.as_it_was.stayed_share, 1);
  EXPECT_GT(load.as_it_was.prefix_hit_share, 0.6);
  EXPECT_NEAR(load.as_it_was.ttfb_p50_s, way_s + 300 / prefill_per_s, 1e-3);
  EXPECT_TRUE(std::isnan(load.as_it_was.preemptions));
  ASSERT_EQ(load.engines.size(), 1u);
  EXPECT_EQ(load.engines[0].ranks, 2u);
}

TEST(RecordedLoad, a_request_without_an_end_is_left_out) {
  fleet::Recording recording = Made().take();
  recording.steps.pop_back();
  const RecordedLoad load = load_of(recording);
  EXPECT_EQ(load.left_out, 1u);
  EXPECT_EQ(load.sessions.back().turns.size(), 2u);
}

TEST(LearntEngine, figures_come_from_the_recording) {
  const auto preset = *preset_named("a4000-qwen3-4b");
  const LearntEngine learnt = learnt_engine(load_of(Made().take()), preset);
  EXPECT_EQ(learnt.preset.engine.kv_tokens, Tokens{20'000});
  EXPECT_EQ(learnt.shared_head, Tokens{head});
  EXPECT_NEAR(learnt.preset.engine.cost.prefill_tokens_per_s, prefill_per_s, prefill_per_s * 0.05);
  EXPECT_NEAR(learnt.preset.network_s, way_s, 0.02);
  EXPECT_NEAR(learnt.preset.engine.cost.base_s, token_s, 0.005);
  for (const std::string& line : learnt.words) EXPECT_EQ(line.find("a4000-qwen3-4b's"), line.npos) << line;
}

TEST(LearntEngine, what_a_recording_does_not_tell_is_the_presets) {
  const auto preset = *preset_named("a4000-qwen3-4b");
  const LearntEngine learnt = learnt_engine({}, preset);
  EXPECT_EQ(learnt.preset.engine.kv_tokens, preset.engine.kv_tokens);
  EXPECT_EQ(learnt.preset.engine.cost.prefill_tokens_per_s, preset.engine.cost.prefill_tokens_per_s);
  EXPECT_NE(learnt.words[0].find("a4000-qwen3-4b's"), std::string::npos);
}

TEST(LearntEngine, least_squares) {
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i < 10; ++i) points.emplace_back(100.0 * i, 0.5 + 0.25 * i);
  const auto line = least_squares(points);
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->slope, 0.0025, 1e-9);
  EXPECT_NEAR(line->intercept, 0.5, 1e-9);
  for (auto& point : points) point.first /= 100;  // hardly any spread
  EXPECT_FALSE(least_squares(points));
  EXPECT_FALSE(least_squares({}));
}

TEST(ReplayedLoad, the_same_twice_and_like_the_recording) {
  const fleet::Recording recording = Made().take();
  const RecordedLoad load = load_of(recording);
  const LearntEngine engine = learnt_engine(load, *preset_named("a4000-qwen3-4b"));
  const auto once = replay_load(load, engine, recording.spec, policy::PolicyName::sticky, 1);
  const auto again = replay_load(load, engine, recording.spec, policy::PolicyName::sticky, 1);
  EXPECT_EQ(once.row.digest, again.row.digest);
  EXPECT_EQ(once.row.turns, 18);
  EXPECT_EQ(once.row.failures, 0);
  EXPECT_EQ(once.shortened, 0u);
  EXPECT_EQ(once.row.stayed_share, 1);
  EXPECT_NEAR(once.row.prefix_hit_share, load.as_it_was.prefix_hit_share, 0.05);
  EXPECT_NEAR(once.row.ttfb_p50_s, load.as_it_was.ttfb_p50_s, load.as_it_was.ttfb_p50_s * 0.25);
  const auto off = replay_load(load, engine, recording.spec, policy::PolicyName::off, 1);
  EXPECT_LT(off.row.stayed_share, 1);
}

TEST(ReplayedLoad, prompts_beyond_the_cache_are_cut_and_counted) {
  const fleet::Recording recording = Made().take();
  const RecordedLoad load = load_of(recording);
  LearntEngine engine = learnt_engine(load, *preset_named("a4000-qwen3-4b"));
  engine.preset.engine.kv_tokens = {3'000};
  const auto replayed = replay_load(load, engine, recording.spec, policy::PolicyName::sticky, 1);
  EXPECT_EQ(replayed.row.turns, 18);
  EXPECT_GT(replayed.shortened, 0u);
}

}  // namespace
}  // namespace wg::sim
