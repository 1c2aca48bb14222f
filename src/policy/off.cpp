#include "policy/off.h"

#include <algorithm>

namespace wg::policy {

double vllm_score(const ReplicaView& view) {
  const double base = std::max(view.in_flight, view.waiting + view.running);
  if (view.waiting <= 0 || !view.kv_usage) return base;
  return base + view.waiting * 6 * std::max(0.0, *view.kv_usage - 0.5);
}

Decision off(std::span<const ReplicaView> pool, std::uint64_t start) {
  Decision decision;
  decision.route = Route::off;
  decision.rule = "off: vLLM's formula over scraped counts";
  decision.candidates.reserve(pool.size());
  double lowest = 0;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const ReplicaView& view = pool[(start + i) % pool.size()];
    if (!view.up) continue;
    const double score = vllm_score(view);
    decision.candidates.push_back({view.replica, score, -1, static_cast<double>(view.active_sessions)});
    if (decision.replica != no_replica && score >= lowest) continue;
    lowest = score;
    decision.replica = view.replica;
  }
  return decision;
}

}  // namespace wg::policy
