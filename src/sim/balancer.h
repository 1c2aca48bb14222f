// vLLM's own choice of a data-parallel rank, in three versions: dice (what several API servers with stale counts amount
// to), waiting x 4 + running (releases up to mid-2026), and in flight with rotating ties (since vllm#49204).
// Invariant: in flight of a rank = sent minus finished. Owner: one driver, which decides when counts are published.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/rng.h"
#include "core/units.h"

namespace wg::sim {

enum class BalancerKind : std::uint8_t { random, waiting4, inflight };
std::string_view name_of(BalancerKind kind);
std::optional<BalancerKind> balancer_named(std::string_view name);
inline constexpr std::string_view balancer_names = "random, waiting4, inflight";

// vLLM's coordinator publishes changed counts at most this often, and unchanged ones every 5 s.
inline constexpr Duration publish_every = std::chrono::milliseconds(100);

struct RankCounts {
  double waiting = 0, running = 0;
  double kv_usage = 0;  // 0..1
};

class Balancer {
 public:
  // ranks >= 1. `clients` is the number of API servers that balance beside each other.
  Balancer(BalancerKind kind, std::uint32_t ranks, std::uint64_t seed, std::uint32_t clients = 1);

  void publish(std::span<const RankCounts> counts);  // one for each rank
  std::uint32_t pick();                              // the rank for the next request, and counts it there
  void sent(std::uint32_t rank);                     // a request that named its rank itself
  void finished(std::uint32_t rank);

 private:
  double score(std::uint32_t rank) const;

  BalancerKind kind_;
  std::uint32_t clients_;
  Rng rng_;
  std::vector<RankCounts> counts_;  // as last published, plus own picks since
  std::vector<std::uint32_t> in_flight_;
  std::uint32_t scan_from_ = 0;
};

}  // namespace wg::sim
