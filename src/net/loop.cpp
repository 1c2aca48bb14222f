#include "net/loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>

#include "core/reserve.h"
#include "net/loop_state.h"
#include "net/task.h"

namespace wg::net {
namespace asio = boost::asio;

void Loop::State::tick_again() {
  ticker.expires_at(started + Loop::tick * (wheel.now() + 1));
  ticker.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    wheel.advance(current_tick());
    tick_again();
  });
}

Loop::Loop() : state_(std::make_unique<State>()) {}
Loop::~Loop() = default;

void Loop::run() {
  state_->thread = std::this_thread::get_id();
  state_->tick_again();
  const auto guard = asio::make_work_guard(state_->io);
  const DetachedTasks tasks;
  for (bool over = false; !over;) {
    try {
      state_->io.run();
      over = true;
    } catch (const std::bad_alloc&) {  // that handler's work is lost, the others' goes on
      reserve::losses.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

void Loop::stop() { state_->io.stop(); }

void Loop::post(std::function<void()> work) { asio::post(state_->io, std::move(work)); }

bool Loop::is_current() const { return state_->thread.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

TimePoint Loop::now() const {
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

void Timer::set(Duration from_now) {
  auto& state = *loop_.state_;
  // Rounded up and counted from the real time, so that a timer never fires early.
  const auto due =
      std::chrono::steady_clock::now() - state.started + from_now + Loop::tick - std::chrono::nanoseconds(1);
  state.wheel.set(*this, static_cast<std::uint64_t>(due / Loop::tick));
}

void Timer::cancel() {
  if (armed_) loop_.state_->wheel.cancel(*this);
}

struct Signals::State : std::enable_shared_from_this<Signals::State> {
  State(Loop& loop, std::function<void(int)> callback)
      : set(loop.state().io, SIGTERM, SIGINT), received(std::move(callback)) {}
  void wait() {
    set.async_wait([self = shared_from_this()](const boost::system::error_code& error, int number) {
      if (error || !self->received) return;
      self->received(number);
      self->wait();
    });
  }
  asio::signal_set set;
  std::function<void(int)> received;
};

Signals::Signals(Loop& loop, std::function<void(int)> received)
    : state_(std::make_shared<State>(loop, std::move(received))) {
  state_->wait();
}

Signals::~Signals() {
  state_->received = nullptr;
  state_->set.cancel();
}

}  // namespace wg::net
