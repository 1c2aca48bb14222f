// Block tables worked out by hand: blocks of 4 tokens, 6 of them (5 usable), unless a test says otherwise.
#include "sim/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace wg::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EngineSettings small() {
  EngineSettings settings;
  settings.kv_tokens = {24};
  settings.block_size = 4;
  settings.max_num_seqs = 4;
  settings.max_num_batched_tokens = 64;
  return settings;
}

EngineSettings blocks(std::int64_t count) {
  EngineSettings settings = small();
  settings.kv_tokens = {count * 4};
  return settings;
}

// `count` tokens of text `text`; its answer is text `text + 1000`.
EngineRequest request(RequestId id, std::uint64_t text, std::uint64_t count, std::uint64_t output) {
  EngineRequest made{id, TokenChain(4), {}, FinishReason::length, {}};
  made.prompt.append_made_up(text, 0, count);
  for (std::uint64_t i = 0; i < output; ++i) made.answer.push_back(made_up_token(text + 1000, i));
  return made;
}

std::vector<StepOutput> step(Engine& engine) {
  if (!engine.begin_step(TimePoint{})) return {};
  const auto outputs = engine.end_step();
  return {outputs.begin(), outputs.end()};
}

std::vector<RequestId> ids(const std::vector<StepOutput>& outputs) {
  std::vector<RequestId> all;
  for (const StepOutput& output : outputs) all.push_back(output.id);
  return all;
}

// Submits it alone and runs until idle; the cached tokens it reported.
std::int64_t run(Engine& engine, EngineRequest one) {
  EXPECT_TRUE(engine.submit(std::move(one)));
  std::int64_t cached = -1;
  for (int i = 0; i < 1000 && !engine.idle(); ++i)
    for (const StepOutput& output : step(engine)) cached = output.cached.count;
  EXPECT_TRUE(engine.idle());
  return cached;
}

TEST(Engine, ColdPromptThenTheSameAgain) {
  Engine engine(small());
  EXPECT_EQ(run(engine, request(1, 1, 10, 2)), 0);  // tokens 10 + 1 with KV: blocks 1 2 3, the last with 3 tokens
  EXPECT_THAT(engine.cache().free_list(), ElementsAre(3, 4, 5, 2, 1));
  EXPECT_EQ(run(engine, request(2, 1, 10, 2)), 8);
  EXPECT_EQ(engine.counters().prefix_queries, 20u);
  EXPECT_EQ(engine.counters().prefix_hits, 8u);
  EXPECT_EQ(engine.counters().blocks_stored, 2u);
  EXPECT_EQ(engine.counters().blocks_removed, 0u);
}

TEST(Engine, AFullyCachedPromptComputesItsLastBlockAgain) {
  Engine engine(small());
  run(engine, request(1, 1, 8, 1));  // blocks 1 2, both full
  EXPECT_THAT(engine.cache().free_list(), ElementsAre(3, 4, 5, 2, 1));
  EXPECT_EQ(run(engine, request(2, 1, 8, 1)), 4) << "k = 2 full blocks hit k - 1";
  // Block 1 was hit, 3 holds the second block's content a second time.
  EXPECT_THAT(engine.cache().free_list(), ElementsAre(4, 5, 2, 3, 1));
  EXPECT_EQ(engine.counters().blocks_stored, 3u);
}

TEST(Engine, TheNextTurnHitsPromptAndAnswer) {
  Engine engine(small());
  run(engine, request(1, 1, 6, 7));  // KV of 6 + 6 = 12 tokens: three full blocks
  EngineRequest next = request(2, 1, 6, 1);
  for (std::uint64_t i = 0; i < 7; ++i) next.prompt.append(made_up_token(1001, i));
  next.prompt.append_made_up(9, 0, 3);
  EXPECT_EQ(run(engine, std::move(next)), 12);
  EngineRequest dropped = request(3, 1, 6, 1);
  dropped.prompt.append_made_up(9, 0, 10);
  EXPECT_EQ(run(engine, std::move(dropped)), 4) << "a client that drops the answer hits only its own block";
}

TEST(Engine, TheLastGeneratedTokenHasNoBlock) {
  Engine engine(small());
  run(engine, request(1, 1, 6, 2));  // 6 + 1 tokens with KV: the second block lacks its last token
  EXPECT_EQ(engine.counters().blocks_stored, 1u);
  run(engine, request(2, 2, 6, 3));  // 6 + 2
  EXPECT_EQ(engine.counters().blocks_stored, 3u);
}

TEST(Engine, EvictionTakesTheTailOfTheOldest) {
  Engine engine(small());
  run(engine, request(1, 1, 12, 1));  // 1 2 3
  run(engine, request(2, 2, 8, 1));   // 4 5
  ASSERT_THAT(engine.cache().free_list(), ElementsAre(3, 2, 1, 5, 4));
  run(engine, request(3, 3, 5, 1));  // takes 3 and 2; 2 is only partly filled
  EXPECT_EQ(engine.counters().blocks_removed, 2u);
  ASSERT_THAT(engine.cache().free_list(), ElementsAre(2, 1, 5, 4, 3));
  EXPECT_EQ(run(engine, request(4, 1, 12, 1)), 4) << "the head of the oldest prompt is still there";
}

TEST(Engine, AChunkedPrefillNeedsSeveralSteps) {
  EngineSettings settings = blocks(20);
  settings.max_num_batched_tokens = 8;
  settings.max_num_seqs = 2;
  Engine engine(settings);
  ASSERT_TRUE(engine.submit(request(1, 1, 20, 2)));
  EXPECT_THAT(step(engine), IsEmpty());
  EXPECT_EQ(engine.running(), 1u);
  EXPECT_EQ(engine.cache().free(), 19u - 2) << "blocks come chunk by chunk";
  EXPECT_THAT(step(engine), IsEmpty());
  ASSERT_TRUE(engine.submit(request(2, 2, 6, 1)));
  // 4 tokens are left of the first prompt, the other 4 of the budget go to the newcomer.
  EXPECT_THAT(ids(step(engine)), ElementsAre(1));
  EXPECT_EQ(engine.running(), 2u);
  // Now the first decodes with 1 token, the second ends its prefill with 2.
  EXPECT_THAT(ids(step(engine)), ElementsAre(1, 2));
  EXPECT_TRUE(engine.idle());
}

TEST(Engine, ARequestOfTheSameStepHitsWhatIsScheduledBeforeIt) {
  Engine engine(blocks(20));
  ASSERT_TRUE(engine.submit(request(1, 1, 9, 1)));
  ASSERT_TRUE(engine.submit(request(2, 1, 9, 1)));
  const auto outputs = step(engine);
  ASSERT_THAT(ids(outputs), ElementsAre(1, 2));
  EXPECT_EQ(outputs[0].cached.count, 0);
  EXPECT_EQ(outputs[1].cached.count, 8);
}

TEST(Engine, MaxNumSeqsKeepsOthersWaiting) {
  EngineSettings settings = blocks(20);
  settings.max_num_seqs = 2;
  Engine engine(settings);
  for (RequestId id = 1; id <= 3; ++id) ASSERT_TRUE(engine.submit(request(id, id, 4, 2)));
  EXPECT_THAT(ids(step(engine)), ElementsAre(1, 2));
  EXPECT_EQ(engine.waiting(), 1u);
  EXPECT_THAT(ids(step(engine)), ElementsAre(1, 2));
  EXPECT_THAT(ids(step(engine)), ElementsAre(3));
}

TEST(Engine, NobodyGoesPastAHeadThatDoesNotFit) {
  Engine engine(small());
  ASSERT_TRUE(engine.submit(request(1, 1, 9, 3)));  // 3 of 5 blocks
  EXPECT_THAT(ids(step(engine)), ElementsAre(1));
  ASSERT_TRUE(engine.submit(request(2, 2, 12, 1)));  // 3 blocks: does not fit
  ASSERT_TRUE(engine.submit(request(3, 3, 4, 1)));   // 1 block: would fit
  EXPECT_THAT(ids(step(engine)), ElementsAre(1));
  EXPECT_EQ(engine.waiting(), 2u);
  EXPECT_THAT(ids(step(engine)), ElementsAre(1));
  EXPECT_THAT(ids(step(engine)), ElementsAre(2, 3));
  EXPECT_EQ(engine.counters().prefix_queries, 9u + 12 + 4) << "lookups in vain are not counted";
}

TEST(Engine, TheWholePromptIsReservedBeforeTheFirstChunk) {
  EngineSettings settings = small();
  settings.max_num_batched_tokens = 4;
  Engine reserving(settings);
  settings.reserve_full_isl = false;
  Engine eager(settings);
  for (Engine* engine : {&reserving, &eager}) {
    ASSERT_TRUE(engine->submit(request(1, 1, 3, 9)));
    step(*engine);
    ASSERT_TRUE(engine->submit(request(2, 2, 17, 1)));  // 5 blocks, 4 are free
    step(*engine);
  }
  EXPECT_EQ(reserving.running(), 1u);
  EXPECT_EQ(eager.running(), 2u);
}

TEST(Engine, HitsOnFreeBlocksUseUpFreeBlocks) {
  Engine engine(small());
  run(engine, request(1, 1, 8, 1));                 // two blocks cached and free
  ASSERT_TRUE(engine.submit(request(2, 2, 9, 2)));  // 3 of 5
  step(engine);
  ASSERT_TRUE(engine.submit(request(3, 1, 12, 1)));  // 2 hits and 1 new: 3 free blocks, 2 are left
  EXPECT_THAT(ids(step(engine)), ElementsAre(2));
  EXPECT_EQ(engine.waiting(), 1u);
}

TEST(Engine, WhoCannotGetABlockSendsTheLastBack) {
  Engine engine(small());
  ASSERT_TRUE(engine.submit(request(1, 1, 7, 6)));
  ASSERT_TRUE(engine.submit(request(2, 2, 11, 4)));
  EXPECT_THAT(ids(step(engine)), ElementsAre(1, 2));  // blocks 1 2 and 3 4 5: none free
  EXPECT_THAT(ids(step(engine)), ElementsAre(1, 2));  // 8 and 12 tokens with KV: both full
  EXPECT_EQ(engine.cache().free(), 0u);
  // The first needs a third block; the second goes back, its three blocks are free, the tail of them is taken.
  EXPECT_THAT(ids(step(engine)), ElementsAre(1));
  EXPECT_EQ(engine.counters().preemptions, 1u);
  EXPECT_EQ(engine.running(), 1u);
  EXPECT_EQ(engine.waiting(), 1u);
  EXPECT_THAT(engine.cache().free_list(), ElementsAre(4, 3));
  EXPECT_EQ(engine.counters().blocks_removed, 1u);
  // It has 13 tokens now (4 blocks): hits on 3 4 and two new ones do not fit beside the first's three.
  EXPECT_THAT(ids(step(engine)), ElementsAre(1));
  EXPECT_THAT(ids(step(engine)), ElementsAre(1));
  const auto last = step(engine);
  ASSERT_THAT(ids(last), ElementsAre(1));
  EXPECT_EQ(last[0].finish, FinishReason::length);
  // It comes back with its two generated tokens, computes 5 of 13, and goes on with its third.
  const auto resumed = step(engine);
  ASSERT_THAT(ids(resumed), ElementsAre(2));
  EXPECT_EQ(resumed[0].index, 2u);
  EXPECT_EQ(resumed[0].cached.count, 0) << "cached tokens are those of the first prefill";
  EXPECT_THAT(ids(step(engine)), ElementsAre(2));
  EXPECT_TRUE(engine.idle());
  EXPECT_EQ(engine.counters().prefix_queries, 7u + 11) << "the second lookup is not counted";
  EXPECT_EQ(engine.counters().prefix_hits, 0u);
  EXPECT_EQ(engine.counters().prompt_tokens, 18u);
  EXPECT_EQ(engine.counters().generation_tokens, 10u);
  EXPECT_EQ(engine.counters().blocks_stored, 3u + 3 + 1) << "the block lost in between is stored again";
}

TEST(Engine, NobodyIsAdmittedInAStepThatPreempted) {
  Engine engine(small());
  ASSERT_TRUE(engine.submit(request(1, 1, 8, 5)));
  ASSERT_TRUE(engine.submit(request(2, 2, 10, 5)));
  EXPECT_THAT(ids(step(engine)), ElementsAre(1, 2));  // 2 and 3 blocks
  ASSERT_TRUE(engine.submit(request(3, 3, 1, 1)));
  EXPECT_THAT(ids(step(engine)), ElementsAre(1)) << "2 goes back, and 3 must not come in";
  EXPECT_EQ(engine.waiting(), 2u);
  EXPECT_EQ(engine.counters().preemptions, 1u);
}

// Only without full reservation could the preempted itself come back in the same step: its chunk is smaller than it
// was.
TEST(Engine, NotEvenThePreemptedIsAdmittedInThatStep) {
  EngineSettings settings = small();
  settings.max_num_batched_tokens = 4;
  settings.reserve_full_isl = false;
  Engine engine(settings);
  ASSERT_TRUE(engine.submit(request(1, 1, 8, 9)));
  ASSERT_TRUE(engine.submit(request(2, 2, 10, 5)));
  for (int i = 0; i < 4; ++i) step(engine);  // the first has 10 tokens in 3 blocks, the second 6 in 2
  ASSERT_EQ(engine.running(), 2u);
  ASSERT_EQ(engine.cache().free(), 0u);
  EXPECT_THAT(ids(step(engine)), ElementsAre(1));
  EXPECT_EQ(engine.counters().preemptions, 1u);
  EXPECT_EQ(engine.running(), 1u);
  step(engine);
  EXPECT_EQ(engine.running(), 2u) << "one step later it may";
}

TEST(Engine, ThePreemptedGoesToTheFrontOfTheLine) {
  Engine engine(small());
  ASSERT_TRUE(engine.submit(request(1, 1, 8, 2)));
  ASSERT_TRUE(engine.submit(request(2, 2, 10, 5)));
  step(engine);
  ASSERT_TRUE(engine.submit(request(3, 3, 1, 1)));
  step(engine);
  EXPECT_THAT(ids(step(engine)), ElementsAre(2, 3)) << "2 before 3";
}

TEST(Engine, TheOneThatNeedsABlockMayHaveToGoItself) {
  Engine engine(small());
  ASSERT_TRUE(engine.submit(request(1, 1, 9, 4)));  // 3 blocks
  ASSERT_TRUE(engine.submit(request(2, 2, 8, 5)));  // 2 blocks, full
  EXPECT_THAT(ids(step(engine)), ElementsAre(1, 2));
  EXPECT_THAT(ids(step(engine)), ElementsAre(1));
  EXPECT_EQ(engine.counters().preemptions, 1u);
  EXPECT_EQ(engine.waiting(), 1u);
}

TEST(Engine, AbortFreesAtOnceAndTheBlocksCanStillBeHit) {
  Engine engine(small());
  ASSERT_TRUE(engine.submit(request(1, 1, 9, 5)));
  step(engine);
  EXPECT_EQ(engine.cache().free(), 2u);
  EXPECT_TRUE(engine.abort(1));
  EXPECT_FALSE(engine.abort(1));
  EXPECT_EQ(engine.cache().free(), 5u);
  EXPECT_DOUBLE_EQ(engine.kv_usage(), 0.0);
  EXPECT_TRUE(engine.idle());
  EXPECT_EQ(engine.counters().aborted, 1u);
  EXPECT_EQ(run(engine, request(2, 1, 9, 1)), 8);
}

TEST(Engine, AbortInTheMiddleOfAStepAndInTheLine) {
  EngineSettings settings = small();
  settings.max_num_seqs = 2;
  Engine engine(settings);
  for (RequestId id = 1; id <= 3; ++id) ASSERT_TRUE(engine.submit(request(id, id, 4, 3)));
  ASSERT_TRUE(engine.begin_step(TimePoint{}));
  EXPECT_TRUE(engine.abort(1));
  EXPECT_TRUE(engine.abort(3));
  EXPECT_EQ(engine.running(), 1u);
  EXPECT_EQ(engine.waiting(), 0u);
  const auto outputs = engine.end_step();
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].id, 2u);
  EXPECT_TRUE(engine.abort(2));
  EXPECT_FALSE(engine.begin_step(TimePoint{}));
}

TEST(Engine, ReportsEachTokenOfTheAnswerInOrder) {
  Engine engine(blocks(20));
  EngineRequest one = request(1, 1, 5, 3);
  const std::vector<TokenId> answer = one.answer;
  one.ends_with = FinishReason::stop;
  one.arrival = TimePoint(Duration(5));
  ASSERT_TRUE(engine.submit(std::move(one)));
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(engine.begin_step(TimePoint(Duration(100 + i))));
    const auto outputs = engine.end_step();
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].index, i);
    EXPECT_EQ(outputs[0].token, answer[i]);
    EXPECT_EQ(outputs[0].finish, i == 2 ? FinishReason::stop : FinishReason::none);
    EXPECT_EQ(outputs[0].arrival, TimePoint(Duration(5)));
    EXPECT_EQ(outputs[0].admitted, TimePoint(Duration(100)));
  }
  EXPECT_EQ(engine.counters().finished_stop, 1u);
  EXPECT_EQ(engine.counters().steps, 3u);
}

TEST(Engine, RefusesWhatCannotRun) {
  Engine engine(small());
  EXPECT_EQ(engine.submit(request(1, 1, 0, 1)).error().status, 400);
  EXPECT_EQ(engine.submit(request(1, 1, 1, 0)).error().status, 400);
  EXPECT_EQ(engine.submit(request(1, 1, 20, 1)).error().status, 400) << "20 tokens are the whole cache";
  EngineRequest other_blocks = request(1, 1, 4, 1);
  other_blocks.prompt = TokenChain(16);
  other_blocks.prompt.append(1);
  EXPECT_FALSE(engine.submit(std::move(other_blocks)));
  EXPECT_TRUE(engine.submit(request(1, 1, 4, 1)));
  EXPECT_FALSE(engine.submit(request(1, 1, 4, 1))) << "same id";
  EXPECT_EQ(engine.waiting(), 1u);
}

TEST(Engine, AnAnswerPastTheContextIsCutThere) {
  Engine engine(small());
  EngineRequest one = request(1, 1, 17, 50);
  one.ends_with = FinishReason::stop;
  ASSERT_TRUE(engine.submit(std::move(one)));
  std::vector<StepOutput> last;
  int tokens = 0;
  while (!engine.idle()) {
    last = step(engine);
    ++tokens;
  }
  EXPECT_EQ(tokens, 3);
  EXPECT_EQ(last[0].finish, FinishReason::length);
}

TEST(Engine, WithoutPrefixCachingNothingIsFoundOrCounted) {
  EngineSettings settings = small();
  settings.prefix_caching = false;
  Engine engine(settings);
  EXPECT_EQ(run(engine, request(1, 1, 9, 1)), 0);
  EXPECT_EQ(run(engine, request(2, 1, 9, 1)), 0);
  EXPECT_EQ(engine.counters().prefix_queries, 0u);
  EXPECT_EQ(engine.counters().blocks_stored, 0u);
}

TEST(Engine, ResetForgetsPrefixesOnlyWhenIdle) {
  Engine engine(small());
  ASSERT_TRUE(engine.submit(request(1, 1, 9, 2)));
  step(engine);
  EXPECT_FALSE(engine.reset_prefix_cache());
  step(engine);
  EXPECT_TRUE(engine.reset_prefix_cache());
  EXPECT_EQ(run(engine, request(2, 1, 9, 1)), 0);
}

TEST(Engine, StepsLastAsTheFormulaSays) {
  EngineSettings settings;
  settings.max_model_len = {32'768};
  Engine engine(settings);
  EngineRequest one{1, TokenChain(16), {}, FinishReason::stop, {}};
  one.prompt.append_made_up(1, 0, 3'000);
  one.answer.assign(2, 7);
  ASSERT_TRUE(engine.submit(std::move(one)));
  const auto seconds = [&] {
    const double s = to_seconds(*engine.begin_step(TimePoint{}));
    engine.end_step();
    return s;
  };
  EXPECT_NEAR(seconds(), 0.030 + 2048 / 4300.0 - 0.024, 2e-6);
  EXPECT_NEAR(seconds(), 0.030 + 2048 * 147456 / 752e9 + 952 / 4300.0 - 0.024, 2e-6);
  EXPECT_NEAR(seconds(), 0.030 + 3000 * 147456 / 752e9, 2e-6);
}

TEST(StepTime, ALittlePrefillHidesBehindTheWeights) {
  const StepCost cost;
  EXPECT_EQ(step_time(cost, {{}, {}, {100}}), step_time(cost, {}));
  EXPECT_GT(step_time(cost, {{}, {}, {110}}), step_time(cost, {}));
}

}  // namespace
}  // namespace wg::sim
