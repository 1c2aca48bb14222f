// How many tokens a byte of prompt text makes: of one model in one dialect, whose templates add their own. Learnt from
// what engines count, text only. A mean of logarithms with a memory of fifty prompts.
// Invariants: finite and within its bounds; one wild sample (an image, base64) moves it little. Values only; owner: the
// fleet.
#pragma once

#include <array>
#include <vector>

#include "fleet/events.h"

namespace wg::fleet {

class TokensPerByte {
 public:
  static constexpr double least = 0.02, most = 4, guess = 0.25;

  void add(std::int64_t bytes, Tokens tokens);
  double value() const { return value_; }
  std::uint64_t samples() const { return samples_; }
  Tokens of(std::int64_t bytes) const { return {static_cast<std::int64_t>(static_cast<double>(bytes) * value_)}; }

 private:
  double value_ = guess, weight_ = 0.2;
  std::uint64_t samples_ = 0;
};

// Those of all pools and dialects. What was never met has the guess.
class TokenRatios {
 public:
  const TokensPerByte& of(PoolIndex pool, std::uint32_t dialect) const;
  void add(PoolIndex pool, std::uint32_t dialect, std::int64_t bytes, Tokens tokens);

 private:
  std::vector<std::array<TokensPerByte, dialects>> by_pool_;
};

}  // namespace wg::fleet
