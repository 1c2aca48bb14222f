// Where the log thread puts its lines: a file or standard error. Never throws and never waits longer than a second for
// a reader: lines that cannot be written are counted, which is said once. Owner: the log thread, but for lost().
#pragma once

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace wg::record {

class LineSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // Empty path: standard error. Throws std::runtime_error if the file cannot be opened. `loss_notice`: the payload of
  // the one line that tells of lost ones.
  LineSink(const std::string& path, std::string loss_notice);
  ~LineSink() override;

  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  void count_lost() { lost_.fetch_add(1, std::memory_order_relaxed); }

  // The queue in front of this sink drops lines too; it is asked for their number until the loss has been told.
  void watch(std::uint64_t (*dropped_before)(void*), void* queue);

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  void tell_of_losses();
  bool write_line(std::string_view line);
  bool writable();
  void failed(int error);

  std::string path_, loss_notice_;
  int fd_;
  bool torn_ = false;   // the last line written lacks its end
  bool stuck_ = false;  // the reader did not read for a second: not waited for again until it does
  bool told_in_log_ = false, told_on_stderr_ = false;
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::uint64_t (*)(void*)> dropped_before_{nullptr};
  void* queue_ = nullptr;
};

}  // namespace wg::record
