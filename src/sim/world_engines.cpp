// Probes as the live poller makes them (collect/poller.cpp), and the troubles of engines.
#include "sim/world_state.h"

namespace wg::sim {

namespace {
constexpr Duration lies_for = std::chrono::seconds(5);  // a dying vLLM group answers /health for so long
constexpr Duration down_by_default = std::chrono::seconds(10);
}  // namespace

void World::State::look(EngineIndex index) {
  ModelEngine& engine = engines[index];
  Prober& prober = probers[index];
  prober.looked = now;
  if (!engine.listens(now)) {
    prober.known = false;  // what comes back may be something else
    tell(fleet::ProbeBad{index, true});
  } else {
    if (!prober.known || prober.model != engine.model()) {
      prober.known = true;
      prober.model = engine.model();
      fleet::EngineFound found;
      found.engine = index;
      found.model = engine.model();
      found.ranks = engine.setup().ranks;
      found.max_concurrent = engine.setup().max_num_seqs;
      const double told = engine.setup().tells.kv_times * static_cast<double>(engine.setup().settings.kv_tokens.count);
      if (told > 0) found.kv_capacity = Tokens{static_cast<std::int64_t>(told)};
      found.prefix_caching = engine.setup().settings.prefix_caching;
      tell(found);
      const auto replicas = fleet.replicas(now);
      rows.resize(replicas.size());
      for (const auto& replica : replicas) rows[replica.index] = {replica.engine, replica.rank};
    }
    for (std::uint32_t rank = 0; rank < engine.setup().ranks; ++rank) {
      const Engine& its = engine.ranks()[rank].engine;
      const EngineCounters counted = its.counters();
      tell(fleet::ReplicaSampled{index, rank, static_cast<double>(its.running()), static_cast<double>(its.waiting()),
                                 its.kv_usage(), static_cast<double>(counted.prefix_queries),
                                 static_cast<double>(counted.prefix_hits), static_cast<double>(counted.preemptions)});
    }
    tell(fleet::ProbeGood{index});
  }
  push(now + prober.interval, What::probe, index, 0, ++prober.life, 0);
}

void World::State::set_interval(EngineIndex engine, Duration interval) {
  Prober& prober = probers[engine];
  const bool sooner = interval < prober.interval;
  prober.interval = interval;
  if (sooner) push(now + interval, What::probe, engine, 0, ++prober.life, 0);
}

// Not before the way there and back: what ails the engine may be still going on.
void World::State::look_now(EngineIndex engine) {
  push(now + 2 * engines[engine].setup().network, What::probe, engine, 0, ++probers[engine].life, 0);
}

void World::State::inject(const FaultOrder& order) {
  ModelEngine& engine = engines[order.engine];
  const Duration lasts = order.lasts.value_or(down_by_default);
  switch (order.kind) {
    case FaultKind::refuse:
      engine.refuse_until(now + lasts);
      kept[order.engine].clear();
      return;
    case FaultKind::die_group:
      if (engine.is_dead(now) || !engine.listens(now)) return;
      engine.begin_dying(now + lies_for);
      push(now + lies_for, What::down, order.engine, 0, engine.life(), static_cast<std::uint64_t>(lasts.count()));
      for (const RequestId request : all_at(order.engine)) abort_unasked(request);
      return;
    case FaultKind::cold_restart:
    case FaultKind::other_model:
      return go_down(order.engine, lasts, order.kind == FaultKind::other_model);
    default:
      return engine.arm(order, now);
  }
}

// The process ends and comes back cold.
void World::State::go_down(EngineIndex index, Duration lasts, bool with_other_model) {
  ModelEngine& engine = engines[index];
  kept[index].clear();
  engine.refuse_until(now + lasts);
  for (const RequestId request : all_at(index)) break_connection(request);
  // What was here has been let go of while its ranks were still there.
  engine.begin_life(now + lasts, with_other_model);
}

std::vector<RequestId> World::State::all_at(EngineIndex index) const {
  const ModelEngine& engine = engines[index];
  std::vector<RequestId> all = engine.on_the_way;
  for (const ModelEngine::Rank& rank : engine.ranks()) all.insert(all.end(), rank.here.begin(), rank.here.end());
  return all;
}

}  // namespace wg::sim
