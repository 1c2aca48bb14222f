#include "net/precise_timer.h"

#include <optional>

#include "net/loop_state.h"

namespace wg::net {

struct PreciseTimer::State {
  State(Loop& loop, std::function<void()> callback) : timer(loop.state().io), fired(std::move(callback)) {}
  boost::asio::steady_timer timer;
  std::function<void()> fired;
  std::optional<TimePoint> due;
};

PreciseTimer::PreciseTimer(Loop& loop, std::function<void()> fired)
    : state_(std::make_shared<State>(loop, std::move(fired))) {}

PreciseTimer::~PreciseTimer() {
  cancel();
  state_->fired = nullptr;
}

void PreciseTimer::set(TimePoint at) {
  if (state_->due == at) return;
  state_->due = at;
  state_->timer.expires_at(std::chrono::steady_clock::time_point(at.time_since_epoch()));
  state_->timer.async_wait([self = state_, at](const boost::system::error_code& error) {
    // A wait that had already ended when it was replaced comes without an error: `due` tells it from the valid one.
    if (error || self->due != at || !self->fired) return;
    self->due.reset();
    const auto fired = self->fired;  // survives the timer's end inside the call
    fired();
  });
}

void PreciseTimer::cancel() {
  state_->due.reset();
  state_->timer.cancel();
}

}  // namespace wg::net
