// A pause that can be cut short. Owner: one loop.
#pragma once

#include <coroutine>
#include <utility>

#include "net/loop.h"

namespace wg::bench {

class Nap {
 public:
  explicit Nap(net::Loop& loop) : timer_(loop, [this] { wake(); }) {}

  // co_await nap.sleep(d). One at a time; none lasts once end() was called.
  struct Sleep {
    Nap& nap;
    Duration duration;
    bool await_ready() const { return nap.over_ || duration <= Duration::zero(); }
    void await_suspend(std::coroutine_handle<> self) const {
      nap.sleeper_ = self;
      nap.timer_.set(duration);
    }
    void await_resume() const {}
  };
  Sleep sleep(Duration duration) { return {*this, duration}; }

  void rouse() {  // this sleep is over
    if (sleeper_) timer_.set(Duration::zero());
  }

  void end() {  // the sleeper goes on from the loop, not from in here
    over_ = true;
    if (sleeper_) timer_.set(Duration::zero());
  }

 private:
  void wake() {
    if (const auto sleeper = std::exchange(sleeper_, nullptr)) sleeper.resume();
  }

  net::Timer timer_;
  std::coroutine_handle<> sleeper_;
  bool over_ = false;
};

}  // namespace wg::bench
