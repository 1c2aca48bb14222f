#include "gateway/known_engines.h"

#include <algorithm>

namespace wg::gateway {

KnownEngines::KnownEngines(const config::Config& config) : config_(config) {
  for (PoolIndex p = 0; p < config.pools.size(); ++p) {
    pool_names_.push_back(config.pools[p].model);
    for (const config::Engine& engine : config.pools[p].engines) {
      configured_.push_back(&engine);
      pool_of_.push_back(p);
    }
  }
  engines_.resize(configured_.size());
}

std::vector<EngineIndex> KnownEngines::in_pool(PoolIndex pool) const {
  std::vector<EngineIndex> all;
  for (EngineIndex e = 0; e < pool_of_.size(); ++e)
    if (pool_of_[e] == pool) all.push_back(e);
  return all;
}

// An --engine without a pool of its own goes to the pool of its model; the first one names it.
PoolIndex KnownEngines::pool_for(EngineIndex engine, const std::string& model) const {
  const PoolIndex configured = pool_of_[engine];
  if (!config_.pools[configured].model.empty()) return configured;
  for (PoolIndex p = 0; p < pool_names_.size(); ++p)
    if (pool_names_[p] == model) return p;
  for (PoolIndex p = 0; p < pool_names_.size(); ++p)
    if (pool_names_[p].empty()) return p;
  return configured;
}

fleet::EngineFound KnownEngines::found(EngineIndex engine, const std::string& model, const probe::EngineSample& sample,
                                       std::optional<std::uint32_t> slots) {
  const config::Engine& configured = *configured_[engine];
  const probe::RankSample& first = sample.ranks.front();
  const PoolIndex pool = pool_for(engine, model);
  if (pool_names_[pool].empty()) pool_names_[pool] = model;
  pool_of_[engine] = pool;
  EngineInfo& info = engines_[engine];
  info.model = model;
  info.kind = sample.kind;
  info.ranks = sample.ranks;
  info.found = true;
  info.kv_capacity_assumed = !configured.kv_tokens && first.kv_capacity_assumed;

  fleet::EngineFound found;
  found.engine = engine;
  found.model = model;
  found.pool = pool;
  found.ranks = configured.ranks.value_or(static_cast<std::uint32_t>(sample.ranks.size()));
  found.steerable = sample.kind != probe::EngineKind::llama_cpp || found.ranks == 1;
  found.max_concurrent = configured.max_num_seqs ? configured.max_num_seqs : slots;
  if (!found.max_concurrent && first.max_running) found.max_concurrent = static_cast<std::uint32_t>(*first.max_running);
  found.kv_capacity = configured.kv_tokens ? configured.kv_tokens : first.kv_capacity;
  found.prefix_caching = first.prefix_caching;
  found.kv_is_8_bit = first.kv_is_8_bit;
  return found;
}

bool KnownEngines::add_warning(EngineIndex engine, const std::string& what) {
  auto& given = engines_[engine].warnings;
  if (std::find(given.begin(), given.end(), what) != given.end()) return false;
  given.push_back(what);
  return true;
}

std::shared_ptr<const Directory> KnownEngines::directory(std::span<const fleet::ReplicaState> replicas) const {
  auto next = std::make_shared<Directory>();
  for (PoolIndex p = 0; p < config_.pools.size(); ++p)
    next->pools.push_back({pool_names_[p], config_.pools[p].aliases});
  for (EngineIndex e = 0; e < configured_.size(); ++e) {
    const config::Engine& its = *configured_[e];
    next->engines.push_back({its.name, its.url.host + ":" + std::to_string(its.url.port), its.url, its.api_key,
                             engines_[e].model, engines_[e].kind, pool_of_[e]});
  }
  std::vector<std::uint32_t> ranks_of(configured_.size(), 0);
  for (const auto& replica : replicas)
    if (!replica.retired && replica.rank) ++ranks_of[replica.engine];
  next->replicas.resize(replicas.size());
  for (const auto& replica : replicas) {
    ReplicaEntry& entry = next->replicas[replica.index];
    entry.engine = replica.engine;
    const std::string rank = replica.rank ? std::to_string(*replica.rank) : "any";
    entry.id = pool_names_[replica.pool] + "/" + name(replica.engine) + "/" + rank;
    if (ranks_of[replica.engine] > 1) entry.steer_to = replica.rank;
  }
  return next;
}

}  // namespace wg::gateway
