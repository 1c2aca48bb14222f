// Pauses of real coding sessions: percentiles of 32,964 pauses in data/traces/claude-code-sessions.jsonl.
#include <algorithm>
#include <array>
#include <cmath>

#include "sim/workload.h"

namespace wg::sim {

namespace {
// Of 0 to 100 %. The longest hundredth reaches 21 hours; its last value here gives it the mean that it has.
constexpr std::array<double, 101> percentiles_s{
    0,  2,  3,   3,   3,   3,   3,   4,   4,   4,   4,   4,   4,   4,   4,    4,    5,    5,  5,  5,  5,
    5,  5,  5,   5,   5,   6,   6,   6,   6,   6,   6,   6,   6,   7,   7,    7,    7,    7,  7,  8,  8,
    8,  8,  8,   8,   9,   9,   9,   9,   10,  10,  10,  11,  11,  11,  12,   12,   13,   13, 14, 14, 15,
    16, 16, 17,  18,  19,  20,  21,  22,  24,  26,  28,  30,  33,  36,  39,   43,   47,   53, 60, 66, 71,
    81, 95, 107, 122, 129, 142, 164, 188, 223, 288, 331, 467, 606, 851, 1408, 2882, 17000};
}  // namespace

double real_pause_s(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(percentiles_s.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), percentiles_s.size() - 2);
  return std::lerp(percentiles_s[below], percentiles_s[below + 1], at - static_cast<double>(below));
}

}  // namespace wg::sim
