// Rendezvous hash of the session key: always the same replica while the same ones are up, blind to load.
// Invariant: a replica that goes down moves only its own sessions; one that comes up takes only its share.
// Pure; any thread.
#pragma once

#include "policy/decision.h"

namespace wg::policy {

// `session` must not be zero: without a key there is nothing to hash.
// Thaler and Ravishankar 1998, "Using name-based mappings to increase hit rates": the highest hash of (key, replica).
Decision rendezvous(std::span<const ReplicaView> pool, const SessionKey& session);

}  // namespace wg::policy
