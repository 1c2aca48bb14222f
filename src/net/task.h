// Coroutines of the data path. A Task starts when awaited and resumes its awaiter when done; spawn() starts one that
// nobody awaits. Rules that keep g++ 12 honest are in docs/coroutines.md: named functions, by-value parameters, one
// co_await a statement.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "net/frame_pool.h"

namespace wg::net {

template <class T>
class Task;

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> awaiter = std::noop_coroutine();
  std::exception_ptr failure;

  static void* operator new(std::size_t bytes) { return take_frame(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { give_frame(frame, bytes); }

  struct Final {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) noexcept {
      return done.promise().awaiter;
    }
    void await_resume() noexcept {}
  };

  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() { failure = std::current_exception(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  void return_value(T result) { value.emplace(std::move(result)); }
  T take() {
    if (failure) std::rethrow_exception(failure);
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void take() {
    if (failure) std::rethrow_exception(failure);
  }
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
    handle_.promise().awaiter = awaiter;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {
template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}
}  // namespace detail

// Starts a task now, on this thread; it owns itself. An exception that leaves it is a bug: counted, the task is over.
void spawn(Task<void> task);

// The spawned tasks of one thread that are still under way. What is left of them when this goes is destroyed where it
// is suspended, so that nothing outlives its loop: Loop::run() holds one.
class DetachedTasks {
 public:
  DetachedTasks();
  ~DetachedTasks();
  DetachedTasks(const DetachedTasks&) = delete;
  DetachedTasks& operator=(const DetachedTasks&) = delete;
};

}  // namespace wg::net
