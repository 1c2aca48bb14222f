// The deterministic state machine that decides everything: step(event, now) -> commands. No clock, socket, thread, log
// or randomness of its own. Owner: one strand (live), the simulator, or a replay.
// Invariants: each request ends exactly once; in flight is never negative, and zero when no request is known;
// the same events give the same commands and the same digest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/events.h"
#include "fleet/lineage_state.h"
#include "fleet/warm_rules.h"
#include "fleet/warm_state.h"

namespace wg::fleet {

struct PoolSpec {
  std::string name;  // the model name clients use
  policy::PolicyName policy = policy::PolicyName::sticky;
  std::optional<std::uint32_t> spill_threshold;  // empty: auto
  bool spill_rehome = false;
  WarmRules warm = {};
};

struct EngineSpec {
  std::string name;
  PoolIndex pool = 0;
};

struct Spec {
  std::vector<PoolSpec> pools;
  std::vector<EngineSpec> engines;
  std::size_t session_limit = 65'536;  // and so many responses are known by where they were made
  Duration active_for = std::chrono::seconds(60);
  Duration probe_up = std::chrono::seconds(1), probe_down = std::chrono::milliseconds(200);
  Duration dying_for = std::chrono::seconds(6);  // a dying vLLM group still answers /health for about 5 s
  std::uint32_t assumed_threshold = 8;
  std::uint32_t max_retries = 2;
};

// What the API and the metrics show of a replica. rank empty: the row of an engine whose ranks were left to it.
struct ReplicaState {
  ReplicaIndex index = no_replica;
  PoolIndex pool = 0;
  EngineIndex engine = 0;
  std::optional<std::uint32_t> rank;
  bool retired = false;  // its engine came back as something else; ends with its last request
  bool up = false;
  std::uint32_t in_flight = 0;
  struct Turns {
    std::uint64_t placed = 0, sticky = 0, spilled = 0, moved = 0, off = 0, unsteered = 0;
  } turns;
  std::uint64_t prompt_cached = 0, prompt_computed = 0, prompt_unmeasured = 0, output_tokens = 0, requests = 0;
  std::uint32_t active_sessions = 0;
  double running = 0, waiting = 0;
  std::optional<double> kv_usage;
  std::optional<Tokens> kv_capacity;
};

struct SessionState {
  SessionKey key, parent;
  PoolIndex pool = 0;
  ReplicaIndex home = no_replica;
  std::uint64_t turns = 0;
  std::uint32_t in_flight = 0;
  TimePoint last_end{};
  Tokens context;  // last prompt + output
  RequestClass kind = RequestClass::turn;
  std::uint32_t sub_agents = 0;  // requests of them under way
};

struct PoolState {
  policy::PolicyName policy{};
  std::optional<std::uint32_t> configured_threshold;
  std::uint32_t threshold = 0;  // in force
  bool threshold_assumed = false;
  std::uint32_t replicas_up = 0;
};

class Fleet {
 public:
  explicit Fleet(const Spec& spec);
  ~Fleet();

  Commands step(const Event& event, TimePoint now);

  // By index, without gaps: retired ones stay in the list, so that an index always means the same.
  std::vector<ReplicaState> replicas(TimePoint now) const;
  std::vector<SessionState> sessions(std::size_t limit) const;  // most recently used first
  PoolState pool(PoolIndex pool) const;
  std::vector<WarmReplicaState> warm_replicas(TimePoint now) const;  // those with a rank that are not retired
  WarmPoolState warm_pool(PoolIndex pool, TimePoint now) const;
  std::size_t heads_known() const;
  std::vector<HeadState> heads(std::size_t limit) const;                               // the latest first
  std::vector<LineageState> lineages(const SessionKey& session, TimePoint now) const;  // the latest first
  std::size_t waiting(PoolIndex pool) const;                                           // for a seat
  bool engine_up(EngineIndex engine) const;
  std::size_t requests_known() const;
  std::size_t sessions_known() const;
  std::size_t parents_waiting() const;  // sessions with requests of sub-agents under way
  std::uint64_t digest() const;         // of all commands so far: equal for equal runs

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wg::fleet
