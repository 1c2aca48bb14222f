// The catalogue of warmgate_* metrics: every name, its help text and its labels stand here once (metrics.cpp). Label
// values come from the configuration and fixed lists (catalogue.h) only, never from clients. Counting is thread-safe
// and does not allocate: handles are made when a pool is announced, those of a combination of labels when it first
// occurs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace wg::record {

// What a finished request adds.
struct FinishedRequest {
  std::string_view pool;                 // configured name; "" for requests that reached no pool
  std::string_view api, route, outcome;  // from fixed lists
  int status = 0;
  Tokens prompt, cached, output;
  bool measured = false;
  std::optional<Duration> ttft;
  Duration waited{}, total{};
};

// Figures that are read from their owner at scrape time rather than counted.
struct ReplicaGauges {
  std::string pool, replica;  // replica: pool/engine/rank
  bool up = false;
  double in_flight = 0, active_sessions = 0, seats = 0, running = 0, waiting = 0;
  std::optional<double> kv_usage, seat_capacity;
  double cache_steps_down = 0, cache_lost = 0;
  double placed = 0, sticky = 0, spilled = 0, moved = 0, off = 0, unsteered = 0;
  double prompt_cached = 0, prompt_computed = 0, output_tokens = 0;
};
struct PoolGauges {
  std::string pool;
  double waiting = 0;
};
struct ProcessGauges {
  double requests_in_flight = 0, sessions = 0, connections = 0, log_dropped = 0, bugs = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // Makes a pool's handles; again for a known name does nothing. Until then its requests count as pool "other".
  // Any thread, also while others count. At most 256 pools; further ones stay "other".
  void add_pool(std::string_view pool);

  void count(const FinishedRequest& request);
  void count_retry(std::string_view pool, std::string_view reason);
  void count_refused_connection();

  // The whole exposition text. Any thread; takes milliseconds, so not on an I/O loop under load.
  std::string text(const std::vector<ReplicaGauges>& replicas, const std::vector<PoolGauges>& pools,
                   const ProcessGauges& process);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wg::record
