// The virtual driver by itself: determinism, the books in order after troubles, and what it costs. That it decides as
// the live gateway does is what the scenarios show.
#include "sim/world.h"

#include <gtest/gtest.h>

#include "core/assert.h"
#include "sim/closed_loop.h"
#include "sim/conversation.h"

namespace wg::sim {
namespace {

using namespace std::chrono_literals;

struct Ears final : Clients {
  std::vector<Answer> answers;
  std::vector<std::uint64_t> tags;
  std::uint32_t tokens = 0;
  void token(RequestId, std::uint32_t) override { ++tokens; }
  void ended(const Answer& answer) override { answers.push_back(answer); }
  void woken(std::uint64_t tag) override { tags.push_back(tag); }
};

Question question(std::uint64_t session, std::int64_t tokens, std::int64_t output) {
  Conversation talk(16, 1, 100, session);
  talk.say(tokens);
  Question made;
  made.asked.session = made.asked.lineage = {session, 1};
  made.asked.prompt_estimate = talk.prompt().size();
  made.prompt = talk.prompt();
  made.answer = talk.answer_of(output);
  return made;
}

WorldSpec two_engines() { return world_of(*preset_named("a4000-qwen3-4b"), 2, 1, policy::PolicyName::sticky); }

TEST(World, AnswersATurn) {
  Ears ears;
  World world(two_engines(), ears);
  world.open();
  const RequestId request = world.ask(question(1, 900, 10));
  EXPECT_TRUE(ears.answers.empty()) << "an answer never comes before ask() returns";
  world.run_until(TimePoint(60s));
  ASSERT_EQ(ears.answers.size(), 1u);
  const Answer& answer = ears.answers[0];
  EXPECT_EQ(answer.request, request);
  EXPECT_EQ(answer.outcome, fleet::Outcome::ok);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.prompt.count, 1000);
  EXPECT_EQ(answer.output.count, 10);
  EXPECT_EQ(ears.tokens, 9u) << "the last one comes with the end";
  ASSERT_TRUE(answer.first_content);
  // Network 0.25 s, then one step: 0.03 + 1000/4300 - 0.024 s.
  EXPECT_NEAR(to_seconds(*answer.first_content - answer.arrived), 0.25 + 0.03 + 1000.0 / 4300 - 0.024, 1e-4);
  EXPECT_EQ(world.open_requests(), 0u);
  EXPECT_EQ(world.now(), TimePoint(60s));
}

TEST(World, WithoutOpenNobodyIsUp) {
  Ears ears;
  World world(two_engines(), ears);
  world.ask(question(1, 900, 10));
  world.run_until(TimePoint(1s));
  ASSERT_EQ(ears.answers.size(), 1u);
  EXPECT_EQ(ears.answers[0].status, 503);
  EXPECT_EQ(ears.answers[0].outcome, fleet::Outcome::refused_by_us);
  EXPECT_EQ(ears.answers[0].attempts, 0u);
}

TEST(World, AClientThatLeavesFreesTheEngineAtOnce) {
  Ears ears;
  World world(two_engines(), ears);
  world.open();
  const RequestId request = world.ask(question(1, 9'000, 100));
  world.run_until(TimePoint(1s));
  EXPECT_EQ(world.engine(0, 0).running(), 1u);
  world.leave(request);
  world.leave(request);  // twice is once
  EXPECT_TRUE(world.engine(0, 0).idle());
  ASSERT_EQ(ears.answers.size(), 1u);
  EXPECT_EQ(ears.answers[0].outcome, fleet::Outcome::client_gone);
  EXPECT_EQ(world.fleet().requests_known(), 0u);
}

TEST(World, APromptThatIsTooLongIsAnAnswer) {
  Ears ears;
  World world(two_engines(), ears);
  world.open();
  world.ask(question(1, 40'000, 10));
  world.run_until(TimePoint(1s));
  ASSERT_EQ(ears.answers.size(), 1u);
  EXPECT_EQ(ears.answers[0].status, 400);
  EXPECT_EQ(ears.answers[0].outcome, fleet::Outcome::ok);
}

TEST(World, ASilentEngineIsTimedOut) {
  Ears ears;
  WorldSpec spec = two_engines();
  spec.first_byte_timeout = 30s;
  World world(spec, ears);
  world.open();
  Question asked = question(1, 900, 10);
  asked.fault = FaultOrder{.engine = 0, .kind = FaultKind::stall_head, .rank = {}, .count = {}, .lasts = {}};
  world.ask(std::move(asked));
  world.run_until(TimePoint(60s));
  ASSERT_EQ(ears.answers.size(), 1u);
  EXPECT_EQ(ears.answers[0].status, 504);
  EXPECT_EQ(ears.answers[0].ended, TimePoint(30s));
}

TEST(World, WakesInOrder) {
  Ears ears;
  World world(two_engines(), ears);
  world.wake(TimePoint(2s), 2);
  world.wake(TimePoint(1s), 1);
  world.wake(TimePoint(2s), 3);
  while (world.run_one()) {
  }
  EXPECT_EQ(ears.tags, (std::vector<std::uint64_t>{1, 2, 3}));
}

// Many sessions, all kinds of troubles at random times: each request is answered once and nothing is left anywhere.
TEST(World, BooksAreInOrderAfterAnyTrouble) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Ears ears;
    WorldSpec spec = world_of(*preset_named("a4000-qwen3-4b"), 3, 2, policy::PolicyName::sticky);
    spec.seed = seed;
    World world(spec, ears);
    world.open();
    Rng rng(seed);
    std::size_t sent = 0;
    for (int second = 1; second <= 200; ++second) {
      for (auto n = rng.between(0, 2); n > 0; --n, ++sent) {
        Question asked =
            question(static_cast<std::uint64_t>(rng.between(1, 12)), rng.between(100, 6'000), rng.between(1, 200));
        asked.streamed = rng.uniform() < 0.7;
        world.ask(std::move(asked));
      }
      if (rng.uniform() < 0.3) world.leave(static_cast<RequestId>(rng.between(1, static_cast<std::int64_t>(sent) + 1)));
      if (rng.uniform() < 0.1) {
        FaultOrder order;
        order.engine = static_cast<EngineIndex>(rng.between(0, 2));
        order.kind = static_cast<FaultKind>(rng.between(1, static_cast<int>(FaultKind::error_first)));
        order.lasts = from_seconds(rng.uniform() * 10);
        if (!is_of_process(order.kind)) order.count = 1;
        world.inject(order);
      }
      world.run_until(TimePoint(std::chrono::seconds(second)));
    }
    world.run_until(TimePoint(2h));
    EXPECT_EQ(bug_count, 0u);
    EXPECT_EQ(ears.answers.size(), sent) << "seed " << seed;
    EXPECT_EQ(world.open_requests(), 0u);
    EXPECT_EQ(world.fleet().requests_known(), 0u);
    EXPECT_EQ(world.ranks_in_use(), 0u);
    for (const auto& replica : world.fleet().replicas(world.now())) EXPECT_EQ(replica.in_flight, 0u) << "seed " << seed;
    for (EngineIndex engine = 0; engine < 3; ++engine)
      for (std::uint32_t rank = 0; rank < 2; ++rank) EXPECT_TRUE(world.engine(engine, rank).idle()) << "seed " << seed;
  }
}

LoopRun reference(std::uint32_t sessions, policy::PolicyName policy) {
  LoopRun run;
  run.preset = *preset_named("a4000-qwen3-4b");
  run.sessions = sessions;
  run.policy = policy;
  return run;
}

TEST(ClosedLoop, SameSeedSameRun) {
  const LoopRun run = reference(8, policy::PolicyName::off);
  LoopRun other = run;
  other.seed = 2;
  EXPECT_EQ(run_closed_loop(run).digest, run_closed_loop(run).digest);
  EXPECT_NE(run_closed_loop(run).digest, run_closed_loop(other).digest);
}

TEST(ClosedLoop, StickyKeepsSessionsWhereTheirCacheIs) {
  const LoopRow off = run_closed_loop(reference(8, policy::PolicyName::off));
  const LoopRow sticky = run_closed_loop(reference(8, policy::PolicyName::sticky));
  EXPECT_EQ(sticky.stayed_share, 1.0);
  EXPECT_LT(off.stayed_share, 0.6);
  EXPECT_GT(sticky.prefix_hit_share, off.prefix_hit_share + 0.2);
  EXPECT_LT(sticky.ttfb_p50_s * 2, off.ttfb_p50_s);
  EXPECT_EQ(off.failures + sticky.failures, 0);
}

TEST(ClosedLoop, AWarmCacheIsHitByTheSamePrompts) {
  LoopRun run = reference(4, policy::PolicyName::sticky);
  run.step = 40s;
  LoopResult cold = follow_closed_loop(run);
  ASSERT_EQ(cold.caches.size(), 4u);
  EXPECT_EQ(cold.samples.size(), 40u);
  EXPECT_EQ(cold.samples.back().kv_usage.size(), 4u);
  const LoopRow warm = follow_closed_loop(run, std::move(cold.caches)).row;
  EXPECT_GT(warm.prefix_hit_share, cold.row.prefix_hit_share + 0.05);
}

TEST(ClosedLoop, TheThresholdOfSticky) {
  LoopRun run = reference(10, policy::PolicyName::sticky);
  run.step = 60s;
  run.work.emplace().load = run.preset.load;
  run.work->think = *think_named("exp:3s");
  EXPECT_EQ(run_closed_loop(run).stayed_share, 1.0);
  run.spill_threshold = 1;
  EXPECT_LT(run_closed_loop(run).stayed_share, 1.0);
}

}  // namespace
}  // namespace wg::sim
