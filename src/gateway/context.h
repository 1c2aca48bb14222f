// What the data path works with: what all loops share, and what each loop has for itself.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_set>
#include <vector>

#include "config/config.h"
#include "core/bytes.h"
#include "gateway/body_room.h"
#include "gateway/brain.h"
#include "net/idle_pool.h"
#include "net/loop.h"
#include "record/metrics.h"
#include "record/request_log.h"

namespace wg::gateway {

class Connection;
struct Upstream;

// Shared by all loops; outlives them.
struct Shared {
  const config::Config& config;
  Brain& brain;
  record::Log& log;
  record::Metrics& metrics;
  std::atomic<std::uint32_t> connections{0};
  std::atomic<std::uint64_t> requests{0};  // the source of RequestIds
  std::atomic<bool> draining{false};
  std::uint64_t id_seed = 0;  // makes x-request-ids of different runs differ
  BodyRoom bodies{};
  std::uint32_t max_connections = 0;        // limits.connections, or what the process has descriptors for
  std::atomic<std::uint32_t> lingering{0};  // refused connections that still get their answer
  std::uint32_t max_lingering = 0, max_operators = 0;
};

// One for each I/O loop, used on its thread only.
struct LoopContext {
  LoopContext(net::Loop& its_loop, Shared& its_shared);
  ~LoopContext();

  net::Loop& loop;
  Shared& shared;
  std::vector<std::unique_ptr<net::IdlePool>> idle;        // by EngineIndex
  std::vector<std::unique_ptr<Upstream>> spare_upstreams;  // to be used again
  std::vector<Bytes> spare_bodies;                         // memory of request bodies, likewise
  std::unordered_set<Connection*> open;                    // client connections, for draining
};

}  // namespace wg::gateway
