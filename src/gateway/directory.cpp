#include "gateway/directory.h"

#include <algorithm>

namespace wg::gateway {

std::optional<PoolIndex> Directory::pool_of(std::string_view model) const {
  for (PoolIndex i = 0; i < pools.size(); ++i)
    if (!pools[i].name.empty() && pools[i].name == model) return i;
  for (PoolIndex i = 0; i < pools.size(); ++i)
    if (std::find(pools[i].aliases.begin(), pools[i].aliases.end(), model) != pools[i].aliases.end()) return i;
  for (PoolIndex i = 0; i < pools.size(); ++i)
    for (const std::string& alias : pools[i].aliases)
      if (config::glob_matches(alias, model)) return i;
  for (const EngineEntry& engine : engines)
    if (!engine.model.empty() && engine.model == model) return engine.pool;
  return std::nullopt;
}

std::string Directory::model_list() const {
  std::string list;
  for (const PoolEntry& pool : pools) {
    if (pool.name.empty()) continue;
    if (!list.empty()) list += ", ";
    list += pool.name;
    for (const std::string& alias : pool.aliases) list += ", " + alias;
  }
  return list.empty() ? "none yet: no engine has answered" : list;
}

bool Directory::is_spare(PoolIndex pool) const {
  return pools[pool].name.empty() &&
         std::none_of(engines.begin(), engines.end(), [&](const EngineEntry& engine) { return engine.pool == pool; });
}

}  // namespace wg::gateway
