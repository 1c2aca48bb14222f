#include "record/line_queue.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "record/line_writer.h"

namespace wg::record {
namespace {

// Lines wait this long for company: one wake-up and one write for all that come meanwhile.
constexpr std::chrono::milliseconds gather_for{50};

// Signals are for the main thread; and a reader that hangs up must not end the process.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

struct LineQueue::State {
  State(const std::string& path, std::string its_notice) : writer(path), notice(std::move(its_notice)) {}

  void write_what_gathers() {
    block_signals();
    std::string batch;
    for (bool last = false; !last;) {
      {
        std::unique_lock lock(mutex);
        some.wait(lock, [&] { return ending || !gathered.empty(); });
        ending_soon.wait_for(lock, gather_for, [&] { return ending; });
        last = ending;
        batch.clear();
        batch.swap(gathered);
      }
      write(batch);
    }
  }

  void write(std::string_view batch) {
    if (batch.empty()) return;
    batch.remove_prefix(writer.write(batch));
    if (!batch.empty())
      lost += static_cast<std::uint64_t>(std::count(batch.begin(), batch.end(), '\n'));
    else if (!told && lost > 0)
      told = writer.write(notice) == notice.size();
  }

  LineWriter writer;
  const std::string notice;
  bool told = false;
  std::atomic<std::uint64_t> lost{0};

  std::mutex mutex;
  std::condition_variable some, ending_soon;
  std::string gathered;
  bool ending = false;
  std::thread thread;
};

LineQueue::LineQueue(const std::string& path, std::string notice)
    : state_(std::make_unique<State>(path, std::move(notice))) {
  state_->thread = std::thread([state = state_.get()] { state->write_what_gathers(); });
}

LineQueue::~LineQueue() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->some.notify_one();
  state_->ending_soon.notify_one();
  state_->thread.join();
}

void LineQueue::add(std::string_view line) {
  bool was_empty;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->gathered.size() + line.size() > limit_bytes) {
      state_->lost.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    was_empty = state_->gathered.empty();
    state_->gathered.append(line);
  }
  if (was_empty) state_->some.notify_one();
}

std::uint64_t LineQueue::lost() const { return state_->lost.load(std::memory_order_relaxed); }

}  // namespace wg::record
