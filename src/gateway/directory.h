// What the data path must know of pools and engines to send a request: an immutable picture, made anew by the brain
// whenever an engine is found or changes, read by every loop without a lock.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/ids.h"
#include "probe/engine_sample.h"

namespace wg::gateway {

struct EngineEntry {
  std::string name;
  std::string host_header;  // host:port for the Host field
  config::Url url;
  std::string credential;  // the engine's own API key, or empty
  std::string model;       // the name it serves under; empty until found
  probe::EngineKind kind = probe::EngineKind::unknown;
  PoolIndex pool = 0;
};

struct ReplicaEntry {
  std::string id;  // pool/engine/rank, the only name that clients see
  EngineIndex engine = 0;
  std::optional<std::uint32_t> steer_to;  // the rank header to send; empty: none
};

struct PoolEntry {
  std::string name;  // empty until its first engine is found, where the configuration names none
  std::vector<std::string> aliases;
};

struct Directory {
  std::vector<PoolEntry> pools;
  std::vector<EngineEntry> engines;
  std::vector<ReplicaEntry> replicas;  // by ReplicaIndex

  // The pool that serves `model`: its own name, then an exact alias, then a glob, then the engine's name for it.
  std::optional<PoolIndex> pool_of(std::string_view model) const;
  std::string model_list() const;  // for errors: "a, b"
  // Each --engine has a place for a pool of its own; once it is known to serve another's model nobody needs it.
  bool is_spare(PoolIndex pool) const;
};

// The current picture. Held for as long as one request needs it.
class DirectoryHolder {
 public:
  std::shared_ptr<const Directory> get() const { return std::atomic_load(&current_); }
  void set(std::shared_ptr<const Directory> next) { std::atomic_store(&current_, std::move(next)); }

 private:
  std::shared_ptr<const Directory> current_ = std::make_shared<Directory>();
};

}  // namespace wg::gateway
