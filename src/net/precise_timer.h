// A one-shot timer that fires within a fraction of a millisecond, for what Timer's 20 ms ticks are too coarse: each one
// is an operating-system timer of its own, so there are few of them. Destroying it disarms it. Owner: one loop.
#pragma once

#include <functional>
#include <memory>

#include "net/loop.h"

namespace wg::net {

class PreciseTimer {
 public:
  PreciseTimer(Loop& loop, std::function<void()> fired);
  ~PreciseTimer();
  PreciseTimer(const PreciseTimer&) = delete;
  PreciseTimer& operator=(const PreciseTimer&) = delete;

  void set(TimePoint at);  // on Loop::now()'s clock; replaces an earlier setting; a time in the past fires soon
  void cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the pending wait
};

}  // namespace wg::net
