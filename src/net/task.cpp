#include "net/task.h"

#include <unordered_set>

#include "core/assert.h"

namespace wg::net {
namespace {

using Frames = std::unordered_set<void*>;
thread_local Frames* under_way = nullptr;

struct Detached {
  struct promise_type {
    Detached get_return_object() {
      if (under_way) under_way->insert(frame());
      return {};
    }
    ~promise_type() {
      if (under_way) under_way->erase(frame());
    }
    void* frame() { return std::coroutine_handle<promise_type>::from_promise(*this).address(); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { WG_BUG("an exception left a detached task"); }
  };
};

Detached run_detached(Task<void> task) {
  try {
    co_await task;
  } catch (const std::exception& error) {
    WG_BUG(error.what());
  }
}

}  // namespace

void spawn(Task<void> task) { run_detached(std::move(task)); }

DetachedTasks::DetachedTasks() { under_way = new Frames; }

DetachedTasks::~DetachedTasks() {
  // A frame that goes may take others along, so the set is looked at anew each time.
  while (!under_way->empty()) std::coroutine_handle<>::from_address(*under_way->begin()).destroy();
  delete std::exchange(under_way, nullptr);
}

}  // namespace wg::net
