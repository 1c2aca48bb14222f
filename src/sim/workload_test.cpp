#include "sim/workload.h"

#include <gtest/gtest.h>

#include "sim/preset.h"

namespace wg::sim {
namespace {

const AgentLoad& load() { return presets().front().load; }

TEST(Workload, AgentSessionsAreAsTheReferenceSays) {
  for (std::uint64_t n = 0; n < 200; ++n) {
    const SessionPlan plan = agent_session(load(), {}, 1, 3, n);
    ASSERT_EQ(plan.turns.size(), 6u);
    EXPECT_EQ(plan.head, 3'500);
    for (std::size_t i = 0; i < plan.turns.size(); ++i) {
      const TurnPlan& turn = plan.turns[i];
      EXPECT_GE(turn.added, i == 0 ? 7'200 : 380);
      EXPECT_LE(turn.added, i == 0 ? 7'500 : 420);
      EXPECT_GE(turn.output, 120);
      EXPECT_LE(turn.output, 256);
      EXPECT_EQ(turn.pause, std::chrono::milliseconds(200));
    }
  }
}

TEST(Workload, PlansDependOnSeedClientAndNumberAlone) {
  const auto text = [](std::uint64_t seed, std::uint32_t client, std::uint64_t n) {
    return agent_session(load(), {}, seed, client, n).text;
  };
  EXPECT_EQ(text(1, 2, 3), text(1, 2, 3));
  EXPECT_NE(text(1, 2, 3), text(2, 2, 3));
  EXPECT_NE(text(1, 2, 3), text(1, 3, 3));
  EXPECT_NE(text(1, 2, 3), text(1, 2, 4));
}

TEST(Workload, ThinkingChangesPausesAndNothingElse) {
  const Think think{Think::Kind::exponential, 8};
  double sum = 0, count = 0;
  for (std::uint64_t n = 0; n < 2'000; ++n) {
    const SessionPlan plain = agent_session(load(), {}, 1, 0, n), slow = agent_session(load(), think, 1, 0, n);
    for (std::size_t i = 0; i < plain.turns.size(); ++i) {
      EXPECT_EQ(plain.turns[i].added, slow.turns[i].added);
      EXPECT_EQ(plain.turns[i].output, slow.turns[i].output);
      if (i + 1 < plain.turns.size()) sum += to_seconds(slow.turns[i].pause), ++count;
    }
  }
  EXPECT_NEAR(sum / count, 8, 0.3);
}

TEST(Workload, ClientsBeginTwentyMillisecondsApart) {
  EXPECT_EQ(first_start(load(), 0), Duration{});
  EXPECT_EQ(first_start(load(), 5), std::chrono::milliseconds(100));
}

TEST(Workload, Times) {
  EXPECT_EQ(*duration_named("3m"), std::chrono::minutes(3));
  EXPECT_EQ(*duration_named("0.2s"), std::chrono::milliseconds(200));
  EXPECT_EQ(*duration_named("500ms"), std::chrono::milliseconds(500));
  EXPECT_EQ(*duration_named("1h"), std::chrono::hours(1));
  for (const char* text : {"", "3", "s", "-1s", "3 m", "3min", "1e400s", "nans", "infs", "99999999h"})
    EXPECT_FALSE(duration_named(text)) << text;
}

TEST(Workload, ThinkTimes) {
  EXPECT_EQ(think_named("none")->kind, Think::Kind::none);
  EXPECT_EQ(think_named("exp:3s")->mean_s, 3);
  for (const char* text : {"", "exp", "exp:", "exp:0s", "exp:3", "gauss:3s"}) EXPECT_FALSE(think_named(text)) << text;
}

TEST(Workload, EveryOtherClientOfAMixIsAHuman) {
  Workload work;
  work.kind = WorkloadKind::mix;
  work.load = load();
  double agents_s = 0, humans_s = 0, pauses = 0;
  for (std::uint64_t n = 0; n < 200; ++n) {
    const SessionPlan agent = session_of(work, 1, 4, n), human = session_of(work, 1, 5, n);
    EXPECT_EQ(agent.who, WhoAsks::agent);
    EXPECT_EQ(human.who, WhoAsks::human);
    for (std::size_t i = 0; i + 1 < agent.turns.size(); ++i) {
      EXPECT_EQ(agent.turns[i].then, WaitsFor::tool);
      EXPECT_EQ(human.turns[i].then, WaitsFor::human);
      agents_s += to_seconds(agent.turns[i].pause);
      humans_s += to_seconds(human.turns[i].pause);
      ++pauses;
    }
  }
  EXPECT_NEAR(agents_s / pauses, 2, 0.4);
  EXPECT_NEAR(humans_s / pauses, 40, 8);
}

TEST(Workload, RealPauses) {
  EXPECT_EQ(real_pause_s(0), 0);
  EXPECT_EQ(real_pause_s(0.5), 10);
  EXPECT_EQ(real_pause_s(0.75), 33);
  EXPECT_EQ(real_pause_s(1), 17'000);
  Workload work;
  work.load = load();
  work.think = *think_named("real");
  work.longest_pause = from_seconds(30);
  double capped = 0, pauses = 0;
  for (std::uint64_t n = 0; n < 300; ++n) {
    const SessionPlan plan = session_of(work, 1, 0, n);
    for (std::size_t i = 0; i + 1 < plan.turns.size(); ++i) {
      ++pauses;
      if (to_seconds(plan.turns[i].pause) == 30) ++capped;
    }
  }
  EXPECT_NEAR(capped / pauses, 0.26, 0.05);
}

TEST(Workload, Names) {
  EXPECT_EQ(workload_named("mix")->kind, WorkloadKind::mix);
  EXPECT_EQ(workload_named("trace:a:b")->file, "a:b");
  EXPECT_EQ(workload_named("trace:").error().what, "unknown workload 'trace:'; known are agent, mix, trace:FILE");
}

TEST(Workload, Scale) {
  const AgentLoad half = scaled(load(), 0.5);
  EXPECT_EQ(half.head, load().head / 2);
  EXPECT_EQ(half.turns, load().turns);
  EXPECT_GE(scaled(load(), 1e-9).output.low, 1);
}

}  // namespace
}  // namespace wg::sim
