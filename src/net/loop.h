// One I/O loop: one thread that runs sockets, timers and posted work. Everything of a connection lives on its loop.
// Invariants: post() may be called from any thread, all else only on the loop's own; timers fire on the loop, at most
// `tick` late. Owner: app, which runs each loop in a thread of its own.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/units.h"

namespace wg::net {

class Loop;

// A one-shot timer that can be set again and again; destroying it disarms it. Coarse (Loop::tick) and cheap: setting a
// later time than before costs two stores.
class Timer {
 public:
  Timer(Loop& loop, std::function<void()> fired) : loop_(loop), fired_(std::move(fired)) {}
  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void set(Duration from_now);  // replaces an earlier setting
  void cancel();
  bool armed() const { return armed_; }

 private:
  friend class TimerWheel;
  Loop& loop_;
  std::function<void()> fired_;
  Timer *next_ = nullptr, *previous_ = nullptr;  // in a slot of the wheel
  std::uint64_t due_tick_ = 0, slot_tick_ = 0;
  bool armed_ = false;
};

class Loop {
 public:
  static constexpr Duration tick = std::chrono::milliseconds(20);

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();                             // until stop(); then ends the tasks spawned on it
  void stop();                            // any thread
  void post(std::function<void()> work);  // any thread
  bool is_current() const;                // called on this loop's thread
  TimePoint now() const;                  // monotonic

  struct State;
  State& state() { return *state_; }

 private:
  friend class Timer;
  std::unique_ptr<State> state_;
};

// co_await resume_on(loop): the coroutine goes on on that loop's thread; free if it is there already.
struct ResumeOn {
  Loop& loop;
  bool await_ready() const { return loop.is_current(); }
  void await_suspend(std::coroutine_handle<> self) const {
    loop.post([self] { self.resume(); });
  }
  void await_resume() const {}
};
inline ResumeOn resume_on(Loop& loop) { return {loop}; }

// co_await pause(loop, d): lets d pass.
class Pause {
 public:
  Pause(Loop& loop, Duration duration) : timer_(loop, [this] { self_.resume(); }), duration_(duration) {}
  bool await_ready() const { return duration_ <= Duration::zero(); }
  void await_suspend(std::coroutine_handle<> self) {
    self_ = self;
    timer_.set(duration_);
  }
  void await_resume() const {}

 private:
  std::coroutine_handle<> self_;
  Timer timer_;
  Duration duration_;
};

// Calls back on the loop at each SIGTERM or SIGINT.
class Signals {
 public:
  Signals(Loop& loop, std::function<void(int)> received);
  ~Signals();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the pending wait
};

}  // namespace wg::net
