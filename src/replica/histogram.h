// A Prometheus histogram with fixed bounds. Pure. Owner: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace wg::replica {

class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void add(double value) {
    ++counts_[static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
    ++count_;
    sum_ += value;
  }

  std::span<const double> bounds() const { return bounds_; }
  std::uint64_t in(std::size_t bucket) const { return counts_[bucket]; }  // not cumulated; the last one is +Inf
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;  // of static life, ascending
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

// vLLM's bounds.
namespace bounds {
inline constexpr double first_token[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
                                         1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
inline constexpr double token_gap[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                                       0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
inline constexpr double request[] = {0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
                                     30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
// 1, 2, 5 and their tens up to the model's length; here always up to that of the largest preset.
inline constexpr double tokens[] = {1,    2,    5,    10,    20,    50,    100,    200,   500,
                                    1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000};
inline constexpr double iteration[] = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
inline constexpr double params_n[] = {1, 2, 5, 10, 20};
inline constexpr double preemptions[] = {1, 2, 3, 4, 5, 10, 20};
}  // namespace bounds

}  // namespace wg::replica
