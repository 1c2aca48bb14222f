// The least loaded replica by (in flight, KV in use in steps of 0.1, active sessions), then a rotating cursor.
// Invariants: never chooses a replica that is down; equal replicas take turns; KV counts for all of a pool or for none.
// Pure; any thread.
#pragma once

#include "policy/decision.h"

namespace wg::policy {

// 0..10: the tenth that a KV use of 0..1 lies in. Coarse on purpose: small differences of a gauge that is up to a
// second old must not outweigh the number of active sessions.
double kv_step(double kv_usage);

// Whether every replica of the pool, up or not, has a KV gauge; with one missing the rest is not compared by it.
bool kv_is_known(std::span<const ReplicaView> pool);

// `last`: the replica chosen last (no_replica at first); equals are taken in the order of their index after it.
// `leave_out`: not chosen, though its gauge still tells whether KV counts.
Decision least(std::span<const ReplicaView> pool, ReplicaIndex last, ReplicaIndex leave_out = no_replica);

}  // namespace wg::policy
