#include "policy/round_robin.h"

namespace wg::policy {

Decision round_robin(std::span<const ReplicaView> pool, ReplicaIndex last) {
  Decision decision;
  decision.rule = "round-robin: next in turn";
  decision.candidates.reserve(pool.size());
  ReplicaIndex next = no_replica, first = no_replica;  // the smallest index after `last`, and the smallest of all
  for (const ReplicaView& view : pool) {
    if (!view.up) continue;
    decision.candidates.push_back({view.replica, view.in_flight, -1, static_cast<double>(view.active_sessions)});
    if (view.replica < first) first = view.replica;
    if (last != no_replica && view.replica > last && view.replica < next) next = view.replica;
  }
  decision.replica = next != no_replica ? next : first;
  return decision;
}

}  // namespace wg::policy
