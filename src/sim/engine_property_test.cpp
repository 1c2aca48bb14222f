// What must hold whatever happens: random engines under random conversations, long prompts, bursts and aborts.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <set>

#include "core/hash.h"
#include "core/rng.h"
#include "sim/engine.h"
#include "sim/preset.h"

namespace wg::sim {
namespace {

EngineSettings random_settings(Rng& rng) {
  EngineSettings settings;
  settings.block_size = static_cast<std::uint32_t>(rng.between(1, 16));
  settings.kv_tokens = {rng.between(4, 60) * settings.block_size};
  settings.max_num_seqs = static_cast<std::uint32_t>(rng.between(1, 8));
  settings.max_num_batched_tokens = static_cast<std::uint32_t>(rng.between(settings.max_num_seqs, 200));
  settings.prefix_caching = rng.uniform() < 0.9;
  settings.reserve_full_isl = rng.uniform() < 0.8;
  EXPECT_TRUE(checked(settings)) << checked(settings).error().what;
  return settings;
}

struct Talk {
  TokenChain chain;
  std::uint64_t next_text;
};

// One random life of an engine. Checks as it goes; the digest of all outputs and counters comes back.
class Life {
 public:
  explicit Life(std::uint64_t seed) : rng_(seed), settings_(random_settings(rng_)), engine_(settings_) {}

  std::uint64_t live(int events) {
    for (int i = 0; i < events; ++i) {
      const double dice = rng_.uniform();
      if (dice < 0.25) submit_one();
      if (dice > 0.97) abort_one();
      one_step(dice > 0.9);
      if (::testing::Test::HasFatalFailure()) return 0;
    }
    for (int i = 0; i < 200'000 && !engine_.idle(); ++i) one_step(false);
    EXPECT_TRUE(engine_.idle()) << "somebody never finished";
    EXPECT_EQ(engine_.cache().free(), engine_.cache().usable());
    EXPECT_TRUE(open_.empty());
    const EngineCounters counters = engine_.counters();
    EXPECT_EQ(counters.finished_length + counters.finished_stop + counters.aborted, submitted_);
    EXPECT_LE(counters.prefix_hits, counters.prefix_queries);
    EXPECT_LE(counters.blocks_removed, counters.blocks_stored);
    preemptions = counters.preemptions;
    hits = counters.prefix_hits;
    removed = counters.blocks_removed;
    for (const std::uint64_t value :
         {counters.prefix_queries, counters.prefix_hits, counters.preemptions, counters.prompt_tokens,
          counters.generation_tokens, counters.blocks_stored, counters.blocks_removed, counters.steps})
      digest_ = mix(digest_, value);
    return digest_;
  }

  std::uint64_t preemptions = 0, hits = 0, removed = 0;

 private:
  void submit_one() {
    const auto which = static_cast<std::size_t>(rng_.between(0, 5));
    Talk& talk = talks_.try_emplace(which, Talk{TokenChain(settings_.block_size), which * 1'000}).first->second;
    const std::int64_t most = settings_.model_len().count;
    if (talk.chain.size().count > most * 3 / 4) talk.chain = TokenChain(settings_.block_size);
    if (talk.chain.size().count == 0)
      talk.chain.append_made_up(7, 0, static_cast<std::uint64_t>(rng_.between(0, most / 3)));
    talk.chain.append_made_up(++talk.next_text, 0, static_cast<std::uint64_t>(rng_.between(1, most / 3 + 1)));
    EngineRequest request{++last_id_, talk.chain, {}, FinishReason::stop, now_};
    for (std::int64_t i = rng_.between(1, 40); i > 0; --i)
      request.answer.push_back(made_up_token(last_id_, static_cast<std::uint64_t>(i)));
    talk.chain.append(request.answer);
    const std::size_t answer = request.answer.size();
    if (!engine_.submit(std::move(request))) {
      talk.chain = TokenChain(settings_.block_size);
      return;
    }
    open_[last_id_] = answer;
    ++submitted_;
  }

  void abort_one() {
    if (open_.empty()) return;
    auto victim = open_.begin();
    std::advance(victim, rng_.between(0, static_cast<std::int64_t>(open_.size()) - 1));
    EXPECT_TRUE(engine_.abort(victim->first));
    open_.erase(victim);
  }

  void one_step(bool abort_inside) {
    const auto lasts = engine_.begin_step(now_);
    check();
    if (!lasts) {
      ASSERT_TRUE(engine_.idle()) << "work but no step";
      return;
    }
    ASSERT_GT(lasts->count(), 0);
    now_ += *lasts;
    if (abort_inside) abort_one();
    for (const StepOutput& output : engine_.end_step()) {
      digest_ = mix(mix(digest_, output.id), output.token);
      ASSERT_EQ(output.index, produced_[output.id]++) << "a token twice or left out";
      if (output.finish == FinishReason::none) continue;
      ASSERT_EQ(open_.erase(output.id), 1u) << "finished twice";
    }
    check();
  }

  void check() {
    const BlockCache& cache = engine_.cache();
    ASSERT_LE(cache.free(), cache.usable());
    std::size_t held = 0;
    for (BlockId block = 1; block <= cache.usable(); ++block) held += cache.holders(block) > 0;
    ASSERT_EQ(held + cache.free(), cache.usable());
    ASSERT_EQ(cache.free_list().size(), cache.free());
    for (const BlockId block : cache.free_list()) ASSERT_EQ(cache.holders(block), 0u);
    ASSERT_LE(engine_.running(), settings_.max_num_seqs);
    ASSERT_GE(engine_.kv_usage(), 0.0);
    ASSERT_LE(engine_.kv_usage(), 1.0);
    ASSERT_EQ(engine_.running() + engine_.waiting(), open_.size());
  }

  Rng rng_;
  EngineSettings settings_;
  Engine engine_;
  TimePoint now_;
  std::map<std::size_t, Talk> talks_;
  std::map<RequestId, std::size_t> open_;
  std::map<RequestId, std::uint32_t> produced_;
  RequestId last_id_ = 0;
  std::uint64_t submitted_ = 0, digest_ = 0;
};

TEST(EngineProperty, EveryRequestEndsAndBlocksAddUp) {
  std::uint64_t preemptions = 0, hits = 0, removed = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    Life life(seed);
    life.live(300);
    if (::testing::Test::HasFailure()) return;
    preemptions += life.preemptions;
    hits += life.hits;
    removed += life.removed;
  }
  EXPECT_GT(preemptions, 100u) << "the lives must be hard enough to mean something";
  EXPECT_GT(hits, 10'000u);
  EXPECT_GT(removed, 1'000u);
}

TEST(EngineProperty, TheSameSeedLivesTheSameLife) {
  std::set<std::uint64_t> different;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::uint64_t digest = Life(seed).live(200);
    EXPECT_EQ(digest, Life(seed).live(200));
    different.insert(digest);
  }
  EXPECT_EQ(different.size(), 20u);
}

// Keeps 32 requests of the small preset's size decoding; prints how fast the model is.
TEST(EngineSpeed, StepsPerSecondWith32Running) {
  EngineSettings settings = preset_named("a4000-qwen3-4b")->engine;
  settings.kv_tokens = {16 * 32'000};
  Engine engine(settings);
  TokenChain head(16);
  head.append_made_up(1, 0, 3'500);
  RequestId id = 0;
  const auto submit = [&] {
    EngineRequest request{++id, head, {}, FinishReason::length, {}};
    request.prompt.append_made_up(id, 0, 7'300);
    request.answer.assign(200, 1);
    ASSERT_TRUE(engine.submit(std::move(request)));
  };
  for (int i = 0; i < 32; ++i) submit();
  constexpr int steps = 20'000;
  std::uint64_t tokens = 0;
  double simulated_s = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) {
    simulated_s += to_seconds(*engine.begin_step(TimePoint{}));
    std::size_t finished = 0;
    for (const StepOutput& output : engine.end_step()) {
      ++tokens;
      finished += output.finish != FinishReason::none;
    }
    for (; finished > 0; --finished) submit();
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("[ speed    ] %.0f steps/s, %.1f M tokens/s, %.0f x real time (requests of 10,800 tokens included)\n",
              steps / s, static_cast<double>(tokens) / s / 1e6, simulated_s / s);
}

}  // namespace
}  // namespace wg::sim
