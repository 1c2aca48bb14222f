// Learns a replica's prefill model from times to first token: weighted least squares over (1, n, n x (c + n / 2)),
// with forgetting, so that a change of clock or model shows. The fleet's other replicas count as a few samples of its
// own, the start model as a fraction of one. The base is at most the shortest time seen, which tells it from the rest.
// Invariants: the model's terms are finite and not negative; one wild sample moves little (Huber's weights).
// Values only; owner: the fleet.
#pragma once

#include <array>
#include <cstdint>

#include "policy/prefill.h"

namespace wg::policy {

class PrefillFit {
 public:
  explicit PrefillFit(const PrefillModel& prior = {}) : prior_(prior), model_(prior) {}

  // A clean sample: nothing else was waiting to be read, and there was room. Others would count their wait as reading.
  // `like_it`: the samples of all replicas like this one; nullptr: there are none.
  void add(Tokens uncached, Tokens cached, double seconds, const PrefillFit* like_it = nullptr);

  const PrefillModel& model() const { return model_; }
  std::uint64_t samples() const { return samples_; }
  double typical_error() const { return error_; }  // a share of what was predicted

 private:
  void solve(const PrefillFit* like_it);

  PrefillModel prior_, model_;
  std::array<std::array<double, 3>, 3> moments_{};  // of the features with each other
  std::array<double, 3> targets_{};                 // ... and with what was measured
  std::uint64_t samples_ = 0;
  double weights_ = 0;  // of the samples, as far as they are remembered
  double error_ = 0.05, shortest_s_ = 0;
};

}  // namespace wg::policy
