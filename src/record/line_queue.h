// Finished lines on their way to a file: whoever adds one pays for a copy, a thread of the queue's own writes what has
// gathered, many lines with one call. Bounded: what does not fit is lost and counted, never waited for, and the first
// loss is told in the log itself. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace wg::record {

class LineQueue {
 public:
  static constexpr std::size_t limit_bytes = 4 << 20;

  // Empty path: standard error. Throws std::runtime_error if the file cannot be opened. `notice`: the line that tells
  // of a loss.
  LineQueue(const std::string& path, std::string notice);
  ~LineQueue();  // writes what is queued

  void add(std::string_view line);  // with its end
  std::uint64_t lost() const;       // lines

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wg::record
