#include "policy/prefill.h"

#include <gtest/gtest.h>

namespace wg::policy {

TEST(Prefill, EachTermHasItsShare) {
  const PrefillModel model{.base_s = 0.1, .token_s = 1e-3, .attention_s = 1e-7};
  struct Case {
    std::int64_t uncached, cached;
    double seconds;
  };
  const Case cases[] = {
      {0, 0, 0.1},
      {1000, 0, 0.1 + 1 + 1e-7 * 1000 * 500},
      {1000, 9000, 0.1 + 1 + 1e-7 * 1000 * 9500},
      {-5, -7, 0.1},
  };
  for (const Case& c : cases) EXPECT_NEAR(prefill_s(model, {c.uncached}, {c.cached}), c.seconds, 1e-12);
}

TEST(Prefill, TheEffectiveRateFallsWithTheContext) {
  const PrefillModel model{.base_s = 0.1, .token_s = 1.0 / 4000, .attention_s = 1e-8};
  EXPECT_NEAR(effective_rate(model, {0}), 4000, 1);
  EXPECT_LT(effective_rate(model, {50'000}), 2000.1);
}

}  // namespace wg::policy
