#include "gateway/fleet_spec.h"

namespace wg::gateway {

fleet::Spec spec_of(const config::Config& config) {
  fleet::Spec spec;
  for (PoolIndex p = 0; p < config.pools.size(); ++p) {
    const config::Pool& pool = config.pools[p];
    fleet::PoolSpec& made = spec.pools.emplace_back();
    made.name = pool.model;
    made.policy = pool.policy;
    made.spill_threshold = pool.spill_threshold;
    made.spill_rehome = pool.spill_rehome;
    made.warm.mode = pool.warm_mode;
    if (config.admission.max_wait > Duration{}) made.warm.max_wait = config.admission.max_wait;
    for (const config::Engine& engine : pool.engines) spec.engines.push_back({engine.name, p});
  }
  spec.session_limit = config.sessions.limit;
  spec.active_for = config.sessions.active_for;
  return spec;
}

}  // namespace wg::gateway
