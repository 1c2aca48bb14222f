// The reference rule: a session is placed on the least loaded replica, stays there, and spills when its home is above
// its threshold. Invariants: without faults a session is only ever away from home while home is above N; a spill keeps
// the home unless told to adopt; a home that is down is replaced once and for all. Pure; any thread.
#pragma once

#include "policy/decision.h"

namespace wg::policy {

struct StickyAsk {
  ReplicaIndex home = no_replica;         // no_replica: the session has none yet
  ReplicaIndex parent_home = no_replica;  // of a sub-agent
  ReplicaIndex last = no_replica;         // the cursor of `least`
  bool rehome = false;                    // a spill adopts the replica it went to
  bool home_failed = false;               // a retry: home is up but this request came to nothing there
};

// The quarter of what an engine runs at once, rounded up, at least 1; `assumed` where it does not tell.
std::uint32_t auto_threshold(std::optional<std::uint32_t> max_concurrent, std::uint32_t assumed);

Decision sticky(std::span<const ReplicaView> pool, const StickyAsk& ask);

}  // namespace wg::policy
