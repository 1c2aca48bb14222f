#include "sim/preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wg::sim {
namespace {

using ::testing::HasSubstr;

TEST(Preset, AllAreValid) {
  for (const Preset& preset : presets()) {
    EXPECT_TRUE(checked(preset.engine)) << preset.name;
    EXPECT_EQ(preset.balancer, BalancerKind::random) << preset.name;
    const AgentLoad& load = preset.load;
    const std::int64_t longest =
        load.head + load.first.high + load.output.high + (load.turns - 1) * (load.added.high + load.output.high);
    EXPECT_LT(longest, preset.engine.model_len().count) << preset.name << ": the last turn must fit";
  }
}

TEST(Preset, UnknownListsTheKnown) {
  const auto wrong = preset_named("h100");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().what, "unknown preset 'h100'; known are a4000-qwen3-4b, rtx5090-27b");
}

TEST(Preset, TheSmallCard) {
  const Preset preset = *preset_named("a4000-qwen3-4b");
  EXPECT_EQ(preset.engine.num_blocks(), 2'125u);
  EXPECT_EQ(preset.engine.max_num_seqs, 32u);
  // A cold first turn: 10,800 tokens at 4,300/s, six steps.
  EXPECT_NEAR(to_seconds(step_time(preset.engine.cost, {{}, {}, {2'048}})), 0.482, 0.001);
  // Four streams of 9,000 tokens: what reading 8 GB of weights and that KV at 85 % of the card's 448 GB/s takes, too.
  EXPECT_NEAR(to_seconds(step_time(preset.engine.cost, {{36'000}, {}, {}})), 0.0371, 0.0001);
}

TEST(Settings, SaysWhatIsWrong) {
  const auto what = [](auto&& change) {
    EngineSettings settings;
    change(settings);
    const auto result = checked(settings);
    return result ? std::string("nothing") : result.error().what;
  };
  EXPECT_EQ(what([](EngineSettings&) {}), "nothing");
  EXPECT_THAT(what([](EngineSettings& s) { s.block_size = 0; }), HasSubstr("at least 1"));
  EXPECT_EQ(what([](EngineSettings& s) { s.block_size = 32; }),
            "block size 32 is not a divisor of the 34000 KV tokens");
  EXPECT_THAT(what([](EngineSettings& s) { s.kv_tokens = {16}; }), HasSubstr("fewer than two blocks"));
  EXPECT_THAT(what([](EngineSettings& s) { s.kv_tokens = {0}; }), HasSubstr("fewer than two blocks"));
  EXPECT_THAT(what([](EngineSettings& s) { s.kv_tokens = {-16}; }), HasSubstr("fewer than two blocks"));
  EXPECT_THAT(what([](EngineSettings& s) { s.max_num_seqs = 0; }), HasSubstr("max_num_seqs"));
  EXPECT_THAT(what([](EngineSettings& s) { s.max_num_batched_tokens = 31; }), HasSubstr("max_num_batched_tokens"));
  EXPECT_THAT(what([](EngineSettings& s) { s.max_model_len = {33'985}; }), HasSubstr("33984 tokens"));
  EXPECT_THAT(what([](EngineSettings& s) { s.cost.prefill_tokens_per_s = 0; }), HasSubstr("step cost"));
}

}  // namespace
}  // namespace wg::sim
