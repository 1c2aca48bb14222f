#include "net/idle_pool.h"

#include <algorithm>

namespace wg::net {

IdlePool::IdlePool(Loop& loop, Duration keep_for, Duration oldest, std::size_t limit)
    : loop_(loop), keep_for_(keep_for), oldest_(oldest), limit_(limit), sweeper_(loop, [this] { sweep(); }) {}

std::optional<Stream> IdlePool::take() {
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (loop_.now() - last.since < keep_for_ && last.stream.idle_and_open()) return std::move(last.stream);
  }
  return std::nullopt;
}

void IdlePool::give_back(Stream stream) {
  if (idle_.size() >= limit_) return;
  if (oldest_ > Duration::zero() && stream.age() > oldest_) return;
  idle_.push_back({std::move(stream), loop_.now()});
  if (!sweeper_.armed()) sweeper_.set(keep_for_);
}

void IdlePool::sweep() {
  const TimePoint oldest_allowed = loop_.now() - keep_for_;
  const auto keep =
      std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.since > oldest_allowed; });
  idle_.erase(idle_.begin(), keep);
  if (!idle_.empty()) sweeper_.set(keep_for_);
}

}  // namespace wg::net
