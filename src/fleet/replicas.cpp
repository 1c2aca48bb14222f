#include "fleet/replicas.h"

#include <algorithm>

#include "core/assert.h"
#include "core/hash.h"
#include "policy/sticky.h"

namespace wg::fleet {

namespace {
constexpr std::uint32_t most_ranks = 1024;  // far above any real group: a bound for what an engine may claim

std::uint64_t& counter_of(ReplicaState::Turns& turns, policy::Route route) {
  switch (route) {
    case policy::Route::sticky:
      return turns.sticky;
    case policy::Route::spilled:
      return turns.spilled;
    case policy::Route::moved:
      return turns.moved;
    case policy::Route::off:
      return turns.off;
    case policy::Route::unsteered:
      return turns.unsteered;
    case policy::Route::placed:
    case policy::Route::waiting:
      break;
  }
  return turns.placed;
}
}  // namespace

ReplicaTable::ReplicaTable(const Spec& spec) : assumed_threshold_(spec.assumed_threshold), pools_(spec.pools.size()) {
  for (const EngineSpec& engine : spec.engines) {
    if (engine.pool >= pools_.size()) WG_FATAL("an engine names a pool that is not there");
    pools_[engine.pool].push_back(static_cast<EngineIndex>(engines_.size()));
    Engine& made = engines_.emplace_back();
    made.name = engine.name;
    made.pool = made.configured_pool = engine.pool;
  }
}

ReplicaIndex ReplicaTable::make_row(EngineIndex engine, std::optional<std::uint32_t> rank) {
  Row row;
  row.state.index = static_cast<ReplicaIndex>(rows_.size());
  row.state.pool = engines_[engine].pool;
  row.state.engine = engine;
  row.state.rank = rank;
  row.identity = xxh3(engines_[engine].name, rank.value_or(~0u));
  rows_.push_back(row);
  return row.state.index;
}

void ReplicaTable::join(EngineIndex engine, PoolIndex pool) {
  std::erase(pools_[engines_[engine].pool], engine);
  auto& members = pools_[pool];
  members.insert(std::lower_bound(members.begin(), members.end(), engine),
                 engine);  // in the order of the configuration
  engines_[engine].pool = pool;
}

bool ReplicaTable::found(const EngineFound& event) {
  Engine& engine = engines_[event.engine];
  const std::uint32_t ranks = std::clamp(event.ranks, 1u, most_ranks);
  PoolIndex pool = event.pool.value_or(engine.configured_pool);
  if (pool >= pools_.size()) {
    WG_BUG("an engine was found for a pool that is not there");
    pool = engine.pool;
  }
  const bool is_new = !engine.found || engine.model != event.model || engine.ranks != ranks || engine.pool != pool;
  if (is_new) {
    for (const ReplicaIndex old : engine.rank_rows) rows_[old].state.retired = true;
    if (engine.unranked_row != no_replica) rows_[engine.unranked_row].state.retired = true;
    engine.rank_rows.clear();
    join(event.engine, pool);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) engine.rank_rows.push_back(make_row(event.engine, rank));
    engine.unranked_row = ranks > 1 ? make_row(event.engine, std::nullopt) : no_replica;
    engine.found = true;
    engine.model = event.model;
    engine.ranks = ranks;
  }
  engine.steerable = event.steerable;
  engine.max_concurrent = event.max_concurrent;
  engine.kv_capacity = event.kv_capacity;
  engine.kv_is_8_bit = event.kv_is_8_bit;
  for (const ReplicaIndex index : engine.rank_rows) rows_[index].state.kv_capacity = event.kv_capacity;
  return is_new;
}

void ReplicaTable::sampled(const ReplicaSampled& event) {
  const Engine& engine = engines_[event.engine];
  if (event.rank >= engine.rank_rows.size()) return;  // a scrape may come before discovery, or from an older rank count
  Row& row = rows_[engine.rank_rows[event.rank]];
  row.state.running = event.running;
  row.state.waiting = event.waiting;
  row.state.kv_usage = event.kv_usage;
  row.sampled = true;
  row.picked_since_sample = 0;
  // The whole engine is sampled rank by rank: with rank 0 a new round begins.
  if (engine.ranks > 1 && event.rank == 0) rows_[engine.unranked_row].picked_since_sample = 0;
}

void ReplicaTable::dispatched(ReplicaIndex replica, policy::Route route) {
  Row& row = rows_[replica];
  ++row.state.in_flight;
  ++row.state.requests;
  ++row.picked_since_sample;
  ++counter_of(row.state.turns, route);
}

void ReplicaTable::released(ReplicaIndex replica) {
  if (rows_[replica].state.in_flight == 0) return WG_BUG("a replica's in-flight count would go below zero");
  --rows_[replica].state.in_flight;
}

ReplicaIndex ReplicaTable::as_seen(ReplicaIndex home, bool steered) const {
  if (home == no_replica || rows_[home].state.retired) return no_replica;
  const Engine& engine = engines_[rows_[home].state.engine];
  if (!by_rank(engine, steered)) return engine.whole();
  return rows_[home].state.rank ? home : no_replica;
}

bool ReplicaTable::all_by_url(PoolIndex pool) const {
  return std::all_of(pools_[pool].begin(), pools_[pool].end(),
                     [&](EngineIndex index) { return !engines_[index].found || engines_[index].ranks == 1; });
}

bool ReplicaTable::all_by_rank(PoolIndex pool) const {
  return std::all_of(pools_[pool].begin(), pools_[pool].end(),
                     [&](EngineIndex index) { return !engines_[index].found || by_rank(engines_[index], true); });
}

std::uint32_t ReplicaTable::threshold_of(const Engine& engine) const {
  return policy::auto_threshold(engine.max_concurrent, assumed_threshold_);
}

void ReplicaTable::views(const ViewAsk& ask, const SessionTable& sessions,
                         std::vector<policy::ReplicaView>& out) const {
  out.clear();
  for (const EngineIndex index : pools_[ask.pool]) {
    const Engine& engine = engines_[index];
    if (!engine.found) continue;
    if (!by_rank(engine, ask.steered)) {
      out.push_back(view_of_whole(engine, ask, sessions));
      continue;
    }
    for (const ReplicaIndex replica : engine.rank_rows) out.push_back(view_of(rows_[replica], ask, sessions));
  }
}

void ReplicaTable::loads(PoolIndex pool, TimePoint now, std::vector<Load>& out) const {
  out.clear();
  for (const EngineIndex index : pools_[pool]) {
    const Engine& engine = engines_[index];
    // Requests whose rank was left to the engine may be on any of them.
    const double unranked =
        engine.ranks > 1 ? static_cast<double>(rows_[engine.unranked_row].state.in_flight) / engine.ranks : 0;
    for (const ReplicaIndex replica : engine.rank_rows)
      out.push_back({replica, index, engine.health.up(), engine.health.suspected(now),
                     rows_[replica].state.in_flight + unranked});
  }
}

policy::ReplicaView ReplicaTable::view_of(const Row& row, const ViewAsk& ask, const SessionTable& sessions) const {
  const Engine& engine = engines_[row.state.engine];
  policy::ReplicaView view;
  view.replica = row.state.index;
  view.engine = row.state.engine;
  view.up = up(row);
  view.in_flight = row.state.in_flight;
  // Requests whose rank was left to the engine may be on any of them.
  if (engine.ranks > 1)
    view.in_flight += static_cast<double>(rows_[engine.unranked_row].state.in_flight) / engine.ranks;
  view.kv_usage = row.state.kv_usage;
  view.active_sessions = sessions.active_at(row.state.index);
  view.running = row.state.running;
  view.waiting = row.state.waiting;
  if (ask.as_vllm_counts && row.sampled) view.waiting += row.picked_since_sample;
  view.threshold = ask.threshold.value_or(threshold_of(engine));
  view.identity = row.identity;
  return view;
}

// Compared with single replicas an engine counts as the mean of its ranks; vLLM's formula takes the sums.
policy::ReplicaView ReplicaTable::view_of_whole(const Engine& engine, const ViewAsk& ask,
                                                const SessionTable& sessions) const {
  const Row& whole = rows_[engine.unranked_row];
  policy::ReplicaView view = view_of(whole, ask, sessions);
  std::uint32_t in_flight = whole.state.in_flight;
  double kv_sum = 0, waiting = 0;
  bool kv_known = true, sampled = false;
  for (const ReplicaIndex replica : engine.rank_rows) {
    const Row& row = rows_[replica];
    in_flight += row.state.in_flight;
    view.active_sessions += sessions.active_at(replica);
    view.running += row.state.running;
    waiting += row.state.waiting;
    if (ask.as_vllm_counts && row.sampled) waiting += row.picked_since_sample;
    kv_known = kv_known && row.state.kv_usage.has_value();
    kv_sum += row.state.kv_usage.value_or(0);
    sampled = sampled || row.sampled;
  }
  view.waiting = waiting + (ask.as_vllm_counts && sampled ? whole.picked_since_sample : 0);
  view.kv_usage = kv_known ? std::optional(kv_sum / engine.ranks) : std::nullopt;
  view.in_flight = in_flight;
  if (ask.as_vllm_counts) return view;
  view.in_flight /= engine.ranks;
  view.active_sessions = (view.active_sessions + engine.ranks - 1) / engine.ranks;
  return view;
}

}  // namespace wg::fleet
