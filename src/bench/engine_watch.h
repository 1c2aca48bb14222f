// The engines behind a target as their metrics pages show them: counters for the report, gauges while a load runs, and
// their caches emptied on demand. Owner: one loop; one call at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "net/http_client.h"
#include "net/task.h"

namespace wg::bench {

// One look at all engines. Counters are sums over ranks since the engines' start.
struct EngineLook {
  TimePoint at{};
  bool complete = false;  // every engine showed its page
  double prefix_queries = 0, prefix_hits = 0, preemptions = 0;
  std::uint32_t ranks = 0, busy = 0;  // busy: with something running or waiting
  double requests = 0;                // running and waiting
  struct Rank {
    std::string name;  // ENGINE/RANK, engines by their place in the list: e0, e1, ...
    std::optional<double> kv_usage;
    double prefix_queries = 0, prefix_hits = 0;
    double requests = 0;
  };
  std::vector<Rank> by_rank;
};

struct EngineAddress {
  std::string host;
  std::uint16_t port = 80;
  std::string base_path, credential;
  std::string text() const { return "http://" + host + ":" + std::to_string(port) + base_path; }
};

class EngineWatch {
 public:
  EngineWatch(net::Loop& loop, std::vector<EngineAddress> engines);

  bool any() const { return !engines_.empty(); }
  net::Task<EngineLook> look();
  // POST /reset_prefix_cache to each. The error says which engine would not, and what would help.
  net::Task<Result<void>> reset_prefix_caches();

 private:
  net::Loop& loop_;
  std::vector<EngineAddress> engines_;
  std::vector<std::unique_ptr<net::HttpClient>> clients_;
};

}  // namespace wg::bench
