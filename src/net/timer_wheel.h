// A hashed wheel of coarse timers: set and cancel are O(1), a tick costs what is due. Sans I/O. Owner: one loop.
#pragma once

#include <array>
#include <cstdint>

#include "net/loop.h"

namespace wg::net {

class TimerWheel {
 public:
  void set(Timer& timer, std::uint64_t due_tick);
  void cancel(Timer& timer);
  // Fires everything due up to `tick`. A fired timer may set, cancel or destroy any timer, itself included.
  void advance(std::uint64_t tick);
  std::uint64_t now() const { return now_; }

 private:
  static constexpr std::size_t slots = 1024;
  struct Slot {
    Timer* first = nullptr;
  };

  void link(Timer& timer, std::uint64_t tick);
  void unlink(Timer& timer);

  std::array<Slot, slots> wheel_{};
  Timer* cursor_ = nullptr;  // next to look at in the slot being fired; moves on when that one is unlinked
  std::uint64_t now_ = 0;
};

}  // namespace wg::net
