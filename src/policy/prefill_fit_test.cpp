#include "policy/prefill_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/rng.h"

namespace wg::policy {

namespace {
struct Sample {
  Tokens uncached, cached;
};
// What an agent's load shows: first turns with a cached head, later ones with everything but the news, now and then a
// whole context.
Sample some_turn(Rng& rng) {
  const double kind = rng.uniform();
  if (kind < 0.25) return {{rng.between(6'500, 8'000)}, {3'488}};
  if (kind < 0.35) return {{rng.between(9'000, 14'000)}, {0}};
  return {{rng.between(300, 900)}, {rng.between(10'000, 14'000)}};
}
}  // namespace

TEST(PrefillFit, BeginsWithItsPrior) {
  const PrefillModel prior{.base_s = 0.2, .token_s = 1e-3, .attention_s = 0};
  EXPECT_EQ(PrefillFit(prior).model(), prior);
}

TEST(PrefillFit, IsSaneWithinTwentyRequests) {
  const PrefillModel truth{.base_s = 0.28, .token_s = 1.0 / 4300, .attention_s = 8e-9};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    PrefillFit fit;
    for (int i = 0; i < 20; ++i) {
      const Sample turn = some_turn(rng);
      fit.add(turn.uncached, turn.cached, prefill_s(truth, turn.uncached, turn.cached) + 0.02 * rng.uniform());
    }
    for (const auto& [uncached, cached] : {Sample{{7'000}, {3'488}}, Sample{{500}, {12'000}}, Sample{{12'000}, {0}}}) {
      const double expected = prefill_s(truth, uncached, cached);
      EXPECT_NEAR(prefill_s(fit.model(), uncached, cached), expected, 0.15 * expected + 0.05) << "seed " << seed;
    }
  }
}

// First turns of one client: all of a size, so that nothing but the prior tells the base from the rest.
TEST(PrefillFit, IsSaneWherePromptsAreAllOfASize) {
  const PrefillModel truth{.base_s = 0.1, .token_s = 1.0 / 4300, .attention_s = 8e-9};
  for (const double size : {2'000.0, 10'000.0, 30'000.0})
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      Rng rng(seed);
      PrefillFit fit;
      for (int i = 0; i < 20; ++i) {
        const Tokens uncached{static_cast<std::int64_t>(size * (0.97 + 0.06 * rng.uniform()))};
        fit.add(uncached, {0}, prefill_s(truth, uncached, {0}) * (0.95 + 0.1 * rng.uniform()));
      }
      const Tokens usual{static_cast<std::int64_t>(size)};
      EXPECT_NEAR(effective_rate(fit.model(), usual), effective_rate(truth, usual), 0.3 * effective_rate(truth, usual))
          << size << ", seed " << seed << ", base " << fit.model().base_s;
      // A twentieth of a very long reading is more than any base: there only the sum is known.
      if (size < 30'000) {
        EXPECT_NEAR(1 / fit.model().token_s, 4300, 1'300) << size << ", seed " << seed;
      }
    }
}

// A tenth of the samples were held up for seconds by what the gateway cannot see.
TEST(PrefillFit, WildSamplesMoveItLittle) {
  const PrefillModel truth{.base_s = 0.28, .token_s = 1.0 / 4300, .attention_s = 0};
  Rng rng(5);
  PrefillFit fit;
  for (int i = 0; i < 300; ++i) {
    const Sample turn = some_turn(rng);
    const double held_up = rng.uniform() < 0.1 ? 5 + 20 * rng.uniform() : 0.02 * rng.uniform();
    fit.add(turn.uncached, turn.cached, prefill_s(truth, turn.uncached, turn.cached) + held_up);
  }
  EXPECT_NEAR(1 / fit.model().token_s, 4300, 900);
  EXPECT_NEAR(fit.model().base_s, 0.28, 0.1);
}

TEST(PrefillFit, FollowsAReplicaThatBecameSlower) {
  Rng rng(6);
  PrefillFit fit;
  for (const double rate : {4300.0, 2000.0})
    for (int i = 0; i < 400; ++i) {
      const Sample turn = some_turn(rng);
      fit.add(turn.uncached, turn.cached, 0.3 + static_cast<double>(turn.uncached.count) / rate);
    }
  EXPECT_NEAR(1 / fit.model().token_s, 2000, 200);
}

TEST(PrefillFit, NonsenseChangesNothing) {
  PrefillFit fit;
  const PrefillModel before = fit.model();
  fit.add({0}, {100}, 1);
  fit.add({-4}, {0}, 1);
  fit.add({100}, {0}, -1);
  fit.add({100}, {0}, std::numeric_limits<double>::quiet_NaN());
  fit.add({100}, {0}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(fit.model(), before);
  EXPECT_EQ(fit.samples(), 0u);
}

TEST(PrefillFit, IsNeverNegativeNorEndless) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    PrefillFit fit, all;
    for (int i = 0; i < 100; ++i) {
      const Tokens uncached{rng.between(1, 200'000)}, cached{rng.between(0, 200'000)};
      const double seconds = 100 * rng.uniform() * rng.uniform();
      all.add(uncached, cached, seconds);
      fit.add(uncached, cached, seconds, &all);
      const PrefillModel& model = fit.model();
      ASSERT_TRUE(std::isfinite(model.base_s) && std::isfinite(model.token_s) && std::isfinite(model.attention_s));
      ASSERT_GE(model.base_s, 0);
      ASSERT_GT(model.token_s, 0);
      ASSERT_GE(model.attention_s, 0);
    }
  }
}

TEST(PrefillFit, ANewReplicaLearnsFromTheOthers) {
  const PrefillModel truth{.base_s = 0.28, .token_s = 1.0 / 1500, .attention_s = 0};
  Rng rng(9);
  PrefillFit all, fresh;
  for (int i = 0; i < 100; ++i) {
    const Sample turn = some_turn(rng);
    all.add(turn.uncached, turn.cached, prefill_s(truth, turn.uncached, turn.cached));
  }
  fresh.add({500}, {12'000}, prefill_s(truth, {500}, {12'000}), &all);
  EXPECT_NEAR(1 / fresh.model().token_s, 1500, 200);
}

}  // namespace wg::policy
