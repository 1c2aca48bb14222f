#include "console/shown_replicas.h"

#include <algorithm>
#include <tuple>

namespace wg::console {
namespace {

bool is_shown(const fleet::ReplicaState& replica) {
  if (replica.retired) return replica.in_flight > 0;
  return replica.rank || replica.requests > 0;
}

}  // namespace

std::vector<fleet::ReplicaState> shown_replicas(const gateway::Shared& shared) {
  auto rows = shared.brain.fleet().replicas(shared.brain.fleet_now());
  std::erase_if(rows, [](const fleet::ReplicaState& replica) { return !is_shown(replica); });
  const auto place = [](const fleet::ReplicaState& replica) {
    return std::tuple(replica.engine, !replica.rank, replica.rank.value_or(0), replica.index);
  };
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return rows;
}

}  // namespace wg::console
