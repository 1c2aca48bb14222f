#include "fleet/tokens_per_byte.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"

namespace wg::fleet {

namespace {
Tokens made(std::int64_t bytes, double ratio, Rng& rng) {
  return {static_cast<std::int64_t>(static_cast<double>(bytes) * ratio * (0.9 + 0.2 * rng.uniform()))};
}
}  // namespace

TEST(TokensPerByte, SaneWithinTwentyRequests) {
  for (const double truth : {0.12, 0.25, 0.33, 0.7}) {
    Rng rng(2);
    TokensPerByte ratio;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t bytes = rng.between(400, 60'000);
      ratio.add(bytes, made(bytes, truth, rng));
    }
    EXPECT_NEAR(ratio.value(), truth, truth * 0.1);
    EXPECT_EQ(ratio.samples(), 20u);
  }
}

TEST(TokensPerByte, WildSamplesMoveItLittle) {
  Rng rng(2);
  TokensPerByte ratio;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t bytes = rng.between(400, 60'000);
    // Every tenth prompt has an image: few bytes of text, many tokens.
    ratio.add(bytes, i % 10 == 5 ? Tokens{bytes * 3} : made(bytes, 0.25, rng));
  }
  EXPECT_NEAR(ratio.value(), 0.25, 0.05);
}

TEST(TokensPerByte, WhatSaysNothingChangesNothing) {
  TokensPerByte ratio;
  ratio.add(0, {1'000});
  ratio.add(-5, {1'000});
  ratio.add(10, {1'000});
  ratio.add(1'000, {0});
  EXPECT_EQ(ratio.value(), TokensPerByte::guess);
  EXPECT_EQ(ratio.samples(), 0u);
}

TEST(TokensPerByte, StaysFiniteAndWithinBounds) {
  Rng rng(9);
  TokensPerByte ratio;
  for (int i = 0; i < 10'000; ++i) {
    ratio.add(rng.between(64, 1'000'000'000), Tokens{rng.between(1, 1'000'000'000'000)});
    ASSERT_TRUE(std::isfinite(ratio.value()));
    ASSERT_GE(ratio.value(), TokensPerByte::least);
    ASSERT_LE(ratio.value(), TokensPerByte::most);
  }
}

TEST(TokensPerByte, FollowsAnotherTokenizer) {
  TokensPerByte ratio;
  for (int i = 0; i < 300; ++i) ratio.add(20'000, {5'000});
  for (int i = 0; i < 150; ++i) ratio.add(20'000, {10'000});
  EXPECT_NEAR(ratio.value(), 0.5, 0.06);
}

}  // namespace wg::fleet
