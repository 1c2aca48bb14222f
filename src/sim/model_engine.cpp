#include "sim/model_engine.h"

#include <algorithm>

#include "core/hash.h"

namespace wg::sim {

ModelEngine::ModelEngine(const EngineSetup& setup, std::uint64_t seed)
    : setup_(setup),
      model_(setup.model),
      balancer_(setup.balancer, std::max(setup.ranks, 1u), seed),
      seed_(seed),
      counts_(std::max(setup.ranks, 1u)) {
  setup_.ranks = std::max(setup_.ranks, 1u);
  for (std::uint32_t rank = 0; rank < setup_.ranks; ++rank) ranks_.emplace_back(setup_.settings);
}

std::uint32_t ModelEngine::pick_rank(TimePoint now) {
  // Counts are published as they change, at most ten times a second.
  if (!ever_published_ || now - published_ >= publish_every) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Engine& engine = ranks_[rank].engine;
      counts_[rank] = {static_cast<double>(engine.waiting()), static_cast<double>(engine.running()), engine.kv_usage()};
    }
    balancer_.publish(counts_);
    published_ = now;
    ever_published_ = true;
  }
  return balancer_.pick();
}

void ModelEngine::request_gone(std::uint32_t rank, RequestId request) {
  balancer_.finished(rank);
  std::erase(ranks_[rank].here, request);
}

std::optional<FaultOrder> ModelEngine::meets(std::uint32_t rank, TimePoint now) {
  std::erase_if(standing_, [&](const Standing& standing) { return now >= standing.until || standing.left == 0; });
  for (Standing& standing : standing_) {
    if (standing.order.rank && *standing.order.rank != rank) continue;
    --standing.left;
    return standing.order;
  }
  return std::nullopt;
}

void ModelEngine::arm(const FaultOrder& order, TimePoint now) {
  // How long a stall lasts is a matter of the request, not of the order.
  const bool stalls =
      order.kind == FaultKind::stall_head || order.kind == FaultKind::stall_first || order.kind == FaultKind::stall_mid;
  const bool timed = order.lasts && !stalls;
  standing_.push_back({order, order.count.value_or(timed ? ~0u : 1u), timed ? now + *order.lasts : TimePoint::max()});
}

void ModelEngine::begin_life(TimePoint back, bool with_other_model) {
  ++life_;
  if (with_other_model) model_ += "-other";
  dead_ = false;
  refuses_until_ = std::max(refuses_until_, back);
  on_the_way.clear();
  ranks_.clear();
  for (std::uint32_t rank = 0; rank < setup_.ranks; ++rank) ranks_.emplace_back(setup_.settings);
  balancer_ = Balancer(setup_.balancer, setup_.ranks, mix(seed_, life_));
  ever_published_ = false;
}

}  // namespace wg::sim
