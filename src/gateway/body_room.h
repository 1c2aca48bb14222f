// How much memory the bodies of all requests may take together. What a body's buffer holds is charged here while it
// holds it; a request that would go beyond the bound is refused in words before memory runs out for everybody.
// Thread-safe; shared by all loops.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace wg::gateway {

class BodyRoom {
 public:
  void set_limit(std::uint64_t bytes) { limit_ = bytes; }  // before the loops run
  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }

  bool take(std::uint64_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
    give(bytes);
    return false;
  }
  void give(std::uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  // More than half is in use: buffers are not kept for later.
  bool is_tight() const { return used() > limit_ / 2; }

 private:
  std::atomic<std::uint64_t> used_{0};
  std::uint64_t limit_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace wg::gateway
