// The table of engines and their replicas, and the load of each. An engine with several ranks has a row for each rank
// and one more without a rank, for requests whose rank is left to the engine.
// Invariants: an index is never reused; load is written by dispatch and release alone; retired rows are never in views.
// Owner: the fleet.
#pragma once

#include <vector>

#include "fleet/fleet.h"
#include "fleet/health.h"
#include "fleet/sessions.h"

namespace wg::fleet {

struct Engine {
  std::string name;
  PoolIndex pool = 0, configured_pool = 0;
  bool found = false;
  std::string model;
  std::uint32_t ranks = 0;
  bool steerable = true;
  std::optional<std::uint32_t> max_concurrent;
  std::optional<Tokens> kv_capacity;
  bool kv_is_8_bit = false;
  std::vector<ReplicaIndex> rank_rows;     // by rank
  ReplicaIndex unranked_row = no_replica;  // only with several ranks
  EngineHealth health;

  // The row that stands for the engine as a whole.
  ReplicaIndex whole() const { return ranks > 1 ? unranked_row : rank_rows.front(); }
};

struct Row {
  ReplicaState state;  // without up and active_sessions, which have their own owners
  std::uint64_t identity = 0;
  bool sampled = false;
  std::uint32_t picked_since_sample = 0;  // dispatched since the last scrape, which does not show them yet
};

// Of a rank, all that a price needs of this table.
struct Load {
  ReplicaIndex replica = no_replica;
  EngineIndex engine = 0;
  bool up = false, is_suspected = false;
  double in_flight = 0;  // ours; a fraction where an unsteered request may be on any rank
};

// Which rows a decision may choose among, and by what figures.
struct ViewAsk {
  PoolIndex pool = 0;
  bool steered = true;                     // false: engines as wholes
  bool as_vllm_counts = false;             // policy off: sums over ranks, picks added to the scraped waiting
  std::optional<std::uint32_t> threshold;  // empty: auto
};

class ReplicaTable {
 public:
  explicit ReplicaTable(const Spec& spec);

  std::size_t engine_count() const { return engines_.size(); }
  Engine& engine(EngineIndex index) { return engines_[index]; }
  const Engine& engine(EngineIndex index) const { return engines_[index]; }
  const std::vector<EngineIndex>& engines_of(PoolIndex pool) const { return pools_[pool]; }
  const std::vector<Row>& rows() const { return rows_; }
  Row& row(ReplicaIndex index) { return rows_[index]; }
  const Row& row(ReplicaIndex index) const { return rows_[index]; }
  bool up(const Row& row) const { return !row.state.retired && engines_[row.state.engine].health.up(); }

  // Takes over the facts. True if rows were made: the first time, or because model, rank count or pool changed.
  bool found(const EngineFound& event);
  void sampled(const ReplicaSampled& event);
  void dispatched(ReplicaIndex replica, policy::Route route);
  void released(ReplicaIndex replica);

  // The row that a steered or unsteered request uses for what is kept at `home`; no_replica if there is none: a home
  // without a rank says nothing to a steered request.
  ReplicaIndex as_seen(ReplicaIndex home, bool steered) const;
  // Whether each replica of the pool can be named on a path that is steered.
  bool all_by_rank(PoolIndex pool) const;
  // Whether a URL names each replica of the pool: then the path does not matter.
  bool all_by_url(PoolIndex pool) const;
  std::uint32_t threshold_of(const Engine& engine) const;
  void loads(PoolIndex pool, TimePoint now, std::vector<Load>& out) const;
  void views(const ViewAsk& ask, const SessionTable& sessions, std::vector<policy::ReplicaView>& out) const;

 private:
  bool by_rank(const Engine& engine, bool steered) const { return engine.ranks == 1 || (steered && engine.steerable); }
  void join(EngineIndex engine, PoolIndex pool);
  ReplicaIndex make_row(EngineIndex engine, std::optional<std::uint32_t> rank);
  policy::ReplicaView view_of(const Row& row, const ViewAsk& ask, const SessionTable& sessions) const;
  policy::ReplicaView view_of_whole(const Engine& engine, const ViewAsk& ask, const SessionTable& sessions) const;

  std::uint32_t assumed_threshold_;
  std::vector<Engine> engines_;
  std::vector<std::vector<EngineIndex>> pools_;
  std::vector<Row> rows_;
};

}  // namespace wg::fleet
