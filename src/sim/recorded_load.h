// What a recording of the fleet tells of its clients and engines: the sessions with sizes and pauses of their turns,
// the engines as they were found, and how it went. Nothing of the policy that routed them remains in the sessions.
// Invariant: the same recording gives the same values. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/recording.h"
#include "sim/closed_loop.h"

namespace wg::sim {

struct RecordedTurn {
  TimePoint arrived, ended;
  std::optional<TimePoint> dispatched, first_content;
  Tokens prompt, cached, output;
  bool measured = false, cached_measured = false;
  bool was_alone = false;                // nothing else was in flight on its replica when it was sent there
  bool prefilled_alone = false;          // ... nothing else waited for its first token there until it had its own
  std::optional<TimePoint> read_behind;  // the first token of another that came there while this one waited for its own
  fleet::Outcome outcome = fleet::Outcome::ok;
  ReplicaIndex replica = no_replica;
};

struct RecordedSession {  // of one lineage
  SessionKey session, lineage, parent;
  PoolIndex pool = 0;
  fleet::RequestClass kind = fleet::RequestClass::turn;
  std::vector<RecordedTurn> turns;  // in order of arrival; at least one
};

struct RecordedEngine {
  EngineIndex engine = 0;
  std::uint32_t ranks = 1;
  std::optional<std::uint32_t> max_concurrent;
  std::optional<Tokens> kv_capacity;
};

struct RecordedLoad {
  std::vector<RecordedSession> sessions;     // in order of their first arrival
  std::vector<RecordedEngine> engines;       // those that were found, once each
  std::vector<policy::PolicyName> policies;  // in force at the end, by pool
  TimePoint began, ended;                    // first arrival, last event
  std::uint64_t left_out = 0;                // requests that belong to no session, or did not end
  LoopRow as_it_was;                         // NaN where a recording does not tell
};

RecordedLoad load_of(const fleet::Recording& recording);

}  // namespace wg::sim
