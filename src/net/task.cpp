#include "net/task.h"

#include "core/assert.h"

namespace wg::net {
namespace {

struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
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

}  // namespace wg::net
