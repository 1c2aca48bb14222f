// The engines as they are configured, and what they have said of themselves since: model, kind, last figures, warnings;
// and so which pool each is in, and what pools are called. Makes the data path's picture of all that.
// Invariant: a pool's name, once known, stays; an engine is always in one pool. Owner: the brain's loop.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "fleet/fleet.h"
#include "gateway/directory.h"
#include "probe/engine_sample.h"

namespace wg::gateway {

// What is known of an engine beside the fleet's own state: for the API, and for warnings that are given once.
struct EngineInfo {
  std::string model;
  probe::EngineKind kind = probe::EngineKind::unknown;
  std::vector<probe::RankSample> ranks;  // last scrape
  std::vector<std::string> warnings;     // with the flag that mends them
  bool kv_capacity_assumed = false;
  bool found = false;
};

class KnownEngines {
 public:
  explicit KnownEngines(const config::Config& config);

  const std::vector<EngineInfo>& all() const { return engines_; }
  const std::string& name(EngineIndex engine) const { return configured_[engine]->name; }
  PoolIndex pool_of(EngineIndex engine) const { return pool_of_[engine]; }
  const std::string& pool_name(PoolIndex pool) const { return pool_names_[pool]; }
  std::vector<EngineIndex> in_pool(PoolIndex pool) const;

  // An engine that is new, or came back, has told what it is: what the fleet is to know of it.
  fleet::EngineFound found(EngineIndex engine, const std::string& model, const probe::EngineSample& sample,
                           std::optional<std::uint32_t> slots);
  void sampled(EngineIndex engine, const probe::EngineSample& sample) { engines_[engine].ranks = sample.ranks; }
  // False: that was said of it before.
  bool add_warning(EngineIndex engine, const std::string& what);

  std::shared_ptr<const Directory> directory(std::span<const fleet::ReplicaState> replicas) const;

 private:
  PoolIndex pool_for(EngineIndex engine, const std::string& model) const;

  const config::Config& config_;
  std::vector<const config::Engine*> configured_;  // by engine, as all that follow
  std::vector<PoolIndex> pool_of_;
  std::vector<EngineInfo> engines_;
  std::vector<std::string> pool_names_;
};

}  // namespace wg::gateway
