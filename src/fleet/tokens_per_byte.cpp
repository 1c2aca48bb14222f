#include "fleet/tokens_per_byte.h"

#include <algorithm>
#include <cmath>

namespace wg::fleet {

namespace {
constexpr std::int64_t least_bytes = 64;     // of less the template is most of it
constexpr double half_weight_bytes = 2'000;  // a prompt of so many counts half
constexpr double memory = 50;
constexpr double settled = 3, wide = 1.5, narrow = 0.4;  // steps of the logarithm, before and after so much weight
}  // namespace

void TokensPerByte::add(std::int64_t bytes, Tokens tokens) {
  if (bytes < least_bytes || tokens.count <= 0) return;
  ++samples_;
  const double size = static_cast<double>(bytes), weight = size / (size + half_weight_bytes);
  const double sample = std::clamp(static_cast<double>(tokens.count) / size, least, most);
  const double step = weight_ < settled ? wide : narrow;
  weight_ = std::min(weight_ + weight, memory);
  const double by = std::clamp(std::log(sample / value_), -step, step) * weight / weight_;
  value_ = std::clamp(value_ * std::exp(by), least, most);
}

const TokensPerByte& TokenRatios::of(PoolIndex pool, std::uint32_t dialect) const {
  static const TokensPerByte never_met;
  return pool < by_pool_.size() && dialect < dialects ? by_pool_[pool][dialect] : never_met;
}

void TokenRatios::add(PoolIndex pool, std::uint32_t dialect, std::int64_t bytes, Tokens tokens) {
  if (dialect >= dialects) return;
  if (pool >= by_pool_.size()) by_pool_.resize(pool + 1);
  by_pool_[pool][dialect].add(bytes, tokens);
}

}  // namespace wg::fleet
