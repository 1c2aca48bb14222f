#include "record/line_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <stdexcept>
#include <system_error>

namespace wg::record {
namespace {

constexpr int reader_patience_ms = 1'000;

// Not blocking: neither a pipe without a reader nor a full one is waited for.
int open_log(const std::string& path) {
  if (path.empty()) return STDERR_FILENO;
  int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
  // A pipe whose reader is yet to come, or comes and goes: held open from both ends, lines are lost while it is full.
  if (fd < 0 && errno == ENXIO) fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) throw std::runtime_error("cannot open log file " + path + ": " + std::generic_category().message(errno));
  return fd;
}

}  // namespace

LineWriter::LineWriter(const std::string& path) : path_(path), fd_(open_log(path)) {}

LineWriter::~LineWriter() {
  if (fd_ != STDERR_FILENO) ::close(fd_);
}

std::size_t LineWriter::write(std::string_view lines) {
  static constexpr std::string_view line_end = "\n";
  if (torn_ && put(line_end) == 0) return 0;
  const std::size_t written = put(lines);
  torn_ = written > 0 ? lines[written - 1] != '\n' : false;
  return written;
}

std::size_t LineWriter::put(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const bool ready = writable();
    // Standard error may be a pipe that blocks: what poll() calls writable takes this much at once.
    const std::size_t most =
        fd_ == STDERR_FILENO ? std::min<std::size_t>(PIPE_BUF, bytes.size() - done) : bytes.size() - done;
    const ssize_t written = ready ? ::write(fd_, bytes.data() + done, most) : 0;
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (ready) failed(written < 0 ? errno : ENOSPC);
      break;
    }
    done += static_cast<std::size_t>(written);
  }
  return done;
}

// An error counts as writable: it shows again, with its reason, when writing.
bool LineWriter::writable() {
  pollfd entry{fd_, POLLOUT, 0};
  const int ready = ::poll(&entry, 1, stuck_ ? 0 : reader_patience_ms);
  stuck_ = ready == 0;
  if (stuck_) failed(EAGAIN);
  return !stuck_;
}

void LineWriter::failed(int error) {
  if (told_ || fd_ == STDERR_FILENO) return;
  told_ = true;
  pollfd entry{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&entry, 1, 0) != 1) return;
  const std::string notice = "warmgate: log file " + path_ + ": " + std::generic_category().message(error) +
                             "; lines are lost (warmgate_log_lines_dropped_total counts them)\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, notice.data(), notice.size());
}

}  // namespace wg::record
