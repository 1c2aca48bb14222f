#include "console/metrics_page.h"

#include <vector>

#include "console/shown_replicas.h"
#include "core/assert.h"

namespace wg::console {

std::string metrics_page(gateway::Shared& shared) {
  const auto directory = shared.brain.directory().get();
  const TimePoint now = shared.brain.fleet_now();
  const auto warm = shared.brain.fleet().warm_replicas(now);
  std::vector<record::PoolGauges> pools;
  for (PoolIndex pool = 0; pool < directory->pools.size(); ++pool)
    if (!directory->pools[pool].name.empty())  // else no engine has named it yet
      pools.push_back({directory->pools[pool].name, static_cast<double>(shared.brain.fleet().waiting(pool))});
  std::vector<record::ReplicaGauges> rows;
  for (const auto& replica : shown_replicas(shared)) {
    record::ReplicaGauges row;
    row.pool = directory->pools[replica.pool].name;
    row.replica = directory->replicas[replica.index].id;
    row.up = replica.up;
    row.in_flight = replica.in_flight;
    row.active_sessions = replica.active_sessions;
    for (const auto& its : warm)
      if (its.index == replica.index) {
        row.seats = its.seats;
        row.cache_steps_down = static_cast<double>(its.steps_down);
        row.cache_lost = static_cast<double>(its.hits_missed + its.emptied);
        if (its.capacity) row.seat_capacity = static_cast<double>(its.capacity->count);
      }
    row.running = replica.running;
    row.waiting = replica.waiting;
    row.kv_usage = replica.kv_usage;
    const auto& turns = replica.turns;
    row.placed = static_cast<double>(turns.placed), row.sticky = static_cast<double>(turns.sticky),
    row.spilled = static_cast<double>(turns.spilled);
    row.moved = static_cast<double>(turns.moved), row.off = static_cast<double>(turns.off),
    row.unsteered = static_cast<double>(turns.unsteered);
    row.prompt_cached = static_cast<double>(replica.prompt_cached);
    row.prompt_computed = static_cast<double>(replica.prompt_computed);
    row.output_tokens = static_cast<double>(replica.output_tokens);
    rows.push_back(std::move(row));
  }
  record::ProcessGauges process;
  process.requests_in_flight = static_cast<double>(shared.brain.fleet().requests_known());
  process.sessions = static_cast<double>(shared.brain.fleet().sessions_known());
  process.connections = shared.connections;
  process.log_dropped = static_cast<double>(shared.log.dropped());
  process.bugs = static_cast<double>(bug_count.load());
  return shared.metrics.text(rows, pools, process);
}

}  // namespace wg::console
