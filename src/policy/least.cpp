#include "policy/least.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace wg::policy {

namespace {
bool is_gauge(const std::optional<double>& kv_usage) { return kv_usage && !std::isnan(*kv_usage); }

bool comes_first(const Candidate& a, const Candidate& b, ReplicaIndex last) {
  const bool a_wraps = a.replica <= last, b_wraps = b.replica <= last;
  return std::tie(a.in_flight, a.kv_step, a.active_sessions, a_wraps, a.replica) <
         std::tie(b.in_flight, b.kv_step, b.active_sessions, b_wraps, b.replica);
}
}  // namespace

double kv_step(double kv_usage) {
  // 0.7 may come as 0.7 - 1e-16 after an engine's own arithmetic: it is still seven tenths.
  return std::floor(std::clamp(kv_usage, 0.0, 1.0) * 10 + 1e-9);
}

bool kv_is_known(std::span<const ReplicaView> pool) {
  return std::all_of(pool.begin(), pool.end(), [](const ReplicaView& view) { return is_gauge(view.kv_usage); });
}

Decision least(std::span<const ReplicaView> pool, ReplicaIndex last, ReplicaIndex leave_out) {
  const bool by_kv = kv_is_known(pool);
  Decision decision;
  decision.rule = by_kv ? "least: in flight, KV, active sessions" : "least: in flight, active sessions";
  decision.candidates.reserve(pool.size());
  std::size_t best = 0;
  for (const ReplicaView& view : pool) {
    if (!view.up || view.replica == leave_out) continue;
    decision.candidates.push_back({view.replica, view.in_flight, by_kv ? kv_step(*view.kv_usage) : -1,
                                   static_cast<double>(view.active_sessions)});
    if (comes_first(decision.candidates.back(), decision.candidates[best], last)) best = decision.candidates.size() - 1;
  }
  if (!decision.candidates.empty()) decision.replica = decision.candidates[best].replica;
  return decision;
}

}  // namespace wg::policy
