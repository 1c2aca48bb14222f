// What a policy answers: which replica, as which route, by which rule, and the figures it compared.
// Invariant: replica is no_replica exactly if no replica that may be chosen is up; then route and rule mean nothing.
// Values only; any thread.
#pragma once

#include <vector>

#include "policy/load.h"

namespace wg::policy {

struct Decision {
  ReplicaIndex replica = no_replica;
  Route route = Route::placed;
  const char* rule = "";      // a literal
  bool becomes_home = false;  // the session's home is the chosen replica from now on
  double patience_s = 0;      // of `warm`, without a replica: having waited so long it goes, as things stand; 0: never
  std::vector<Candidate> candidates;  // those that were compared, in table order
};

// nullptr if `replica` is not in the pool.
inline const ReplicaView* find(std::span<const ReplicaView> pool, ReplicaIndex replica) {
  for (const ReplicaView& view : pool)
    if (view.replica == replica) return &view;
  return nullptr;
}

}  // namespace wg::policy
