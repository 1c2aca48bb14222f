// Each request to the next replica that is up, whatever its load. A baseline.
// Invariant: over n decisions with the same n replicas up, each is chosen once.
// Pure; any thread.
#pragma once

#include "policy/decision.h"

namespace wg::policy {

// `last`: the replica chosen last (no_replica at first).
Decision round_robin(std::span<const ReplicaView> pool, ReplicaIndex last);

}  // namespace wg::policy
