#include "sim/balancer.h"

#include <algorithm>

#include "core/assert.h"

namespace wg::sim {

std::string_view name_of(BalancerKind kind) {
  switch (kind) {
    case BalancerKind::random:
      return "random";
    case BalancerKind::waiting4:
      return "waiting4";
    case BalancerKind::inflight:
      return "inflight";
  }
  return "?";
}

std::optional<BalancerKind> balancer_named(std::string_view name) {
  for (const BalancerKind kind : {BalancerKind::random, BalancerKind::waiting4, BalancerKind::inflight})
    if (name == name_of(kind)) return kind;
  return std::nullopt;
}

Balancer::Balancer(BalancerKind kind, std::uint32_t ranks, std::uint64_t seed, std::uint32_t clients)
    : kind_(kind),
      clients_(std::max(clients, 1u)),
      rng_(seed),
      counts_(std::max(ranks, 1u)),
      in_flight_(counts_.size()) {
  WG_ASSERT(ranks >= 1);
}

void Balancer::publish(std::span<const RankCounts> counts) {
  WG_ASSERT(counts.size() == counts_.size());
  std::copy_n(counts.begin(), std::min(counts.size(), counts_.size()), counts_.begin());
}

std::uint32_t Balancer::pick() {
  const auto ranks = static_cast<std::uint32_t>(counts_.size());
  std::uint32_t best = scan_from_;
  if (kind_ == BalancerKind::random) {
    best = static_cast<std::uint32_t>(rng_.between(0, ranks - 1));
  } else {
    for (std::uint32_t i = 1; i < ranks; ++i) {
      const std::uint32_t rank = (scan_from_ + i) % ranks;
      if (score(rank) < score(best)) best = rank;
    }
    // Between two publications a burst would else all go to one rank.
    counts_[best].waiting += clients_;
    if (kind_ == BalancerKind::inflight) scan_from_ = (scan_from_ + 1) % ranks;
  }
  sent(best);
  return best;
}

void Balancer::sent(std::uint32_t rank) { ++in_flight_[rank]; }

void Balancer::finished(std::uint32_t rank) {
  WG_ASSERT(in_flight_[rank] > 0);
  if (in_flight_[rank] > 0) --in_flight_[rank];
}

double Balancer::score(std::uint32_t rank) const {
  const RankCounts& counts = counts_[rank];
  if (kind_ == BalancerKind::waiting4) return counts.waiting * 4 + counts.running;
  const double own = static_cast<double>(clients_) * in_flight_[rank];
  // A queue on a rank short of KV drains slowly: up to three more per waiting request at full use, none up to half.
  return std::max(own, counts.waiting + counts.running) + counts.waiting * 6 * std::max(0.0, counts.kv_usage - 0.5);
}

}  // namespace wg::sim
