// How long a replica needs to read a prompt: pf(n, c) = base + n x token + attention x n x (c + n / 2) seconds, for n
// tokens to compute behind c cached ones. Every price of `warm` is made of it.
// Invariant: finite and never below 0, and more to compute never takes less. Pure; any thread.
#pragma once

#include <algorithm>

#include "core/units.h"

namespace wg::policy {

struct PrefillModel {
  double base_s = 0.05;         // network, queueing and one step
  double token_s = 1.0 / 4000;  // the inverse of the prefill rate mu
  double attention_s = 0;       // k: each computed token looks at all before it

  bool operator==(const PrefillModel&) const = default;
};

inline double prefill_s(const PrefillModel& model, Tokens uncached, Tokens cached) {
  const double n = static_cast<double>(std::max<std::int64_t>(uncached.count, 0));
  const double c = static_cast<double>(std::max<std::int64_t>(cached.count, 0));
  return model.base_s + n * model.token_s + model.attention_s * n * (c + n / 2);
}

// Tokens a second while a cold context of this length is read: mu with its share of attention.
inline double effective_rate(const PrefillModel& model, Tokens context) {
  const double n = static_cast<double>(std::max<std::int64_t>(context.count, 1));
  return 1 / (model.token_s + model.attention_s * n / 2);
}

}  // namespace wg::policy
