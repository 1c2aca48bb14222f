// Which policy is asked what: from a pool's rule and what is known of a request to one Decision.
// Invariant: what rotates (cursor, scan start) moves here only, by decisions that used it.
// Owner: the fleet.
#pragma once

#include "fleet/fleet.h"
#include "policy/decision.h"

namespace wg::fleet {

struct PoolRule {
  policy::PolicyName policy = policy::PolicyName::sticky;
  std::optional<std::uint32_t> threshold;  // empty: auto
  bool rehome = false;
  WarmRules warm;
  ReplicaIndex last = no_replica;  // placed there last
  std::uint64_t decisions = 0;     // by `off`
};

struct PlacementAsk {
  SessionKey session;                                        // zero: none
  bool has_home = false;                                     // also one that is not among the rows asked about
  ReplicaIndex home = no_replica, parent_home = no_replica;  // as rows of the views
  bool home_failed = false;
};

// replica is no_replica if no view is up.
policy::Decision place(PoolRule& rule, std::span<const policy::ReplicaView> views, const PlacementAsk& ask);

}  // namespace wg::fleet
