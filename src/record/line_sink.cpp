#include "record/line_sink.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace wg::record {
namespace {

constexpr int reader_patience_ms = 1'000;

// Not blocking: opening a pipe without a reader is an error rather than a wait, and so is writing to a full one.
int open_log(const std::string& path) {
  if (path.empty()) return STDERR_FILENO;
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
  if (fd < 0) throw std::runtime_error("cannot open log file " + path + ": " + std::generic_category().message(errno));
  return fd;
}

}  // namespace

LineSink::LineSink(const std::string& path, std::string loss_notice)
    : path_(path), loss_notice_(std::move(loss_notice)), fd_(open_log(path)) {}

LineSink::~LineSink() {
  if (fd_ != STDERR_FILENO) ::close(fd_);
}

void LineSink::watch(std::uint64_t (*dropped_before)(void*), void* queue) {
  queue_ = queue;
  dropped_before_.store(dropped_before, std::memory_order_release);
}

void LineSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  if (!write_line(std::string_view(formatted.data(), formatted.size()))) return count_lost();
  if (!told_in_log_) tell_of_losses();
}

void LineSink::tell_of_losses() {
  const auto dropped_before = dropped_before_.load(std::memory_order_acquire);
  if (lost() == 0 && (dropped_before == nullptr || dropped_before(queue_) == 0)) return;
  spdlog::memory_buf_t formatted;
  formatter_->format(spdlog::details::log_msg("", spdlog::level::warn, loss_notice_), formatted);
  told_in_log_ = write_line(std::string_view(formatted.data(), formatted.size()));
}

// False: the line is lost, or torn at a point where the disk became full.
bool LineSink::write_line(std::string_view line) {
  std::string mended;
  if (torn_) line = mended.append("\n").append(line);
  for (bool begun = false; !line.empty(); begun = true) {
    if (!writable()) return torn_ = torn_ || begun, false;
    const ssize_t written = ::write(fd_, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      failed(written < 0 ? errno : ENOSPC);
      return torn_ = torn_ || begun, false;
    }
    torn_ = false;
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool LineSink::writable() {
  pollfd entry{fd_, POLLOUT, 0};
  const int ready = ::poll(&entry, 1, stuck_ ? 0 : reader_patience_ms);
  stuck_ = ready == 0;
  if (ready == 0) failed(EAGAIN);
  return ready != 0;  // an error shows again, with its reason, when writing
}

void LineSink::failed(int error) {
  if (told_on_stderr_ || fd_ == STDERR_FILENO) return;
  told_on_stderr_ = true;
  pollfd entry{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&entry, 1, 0) != 1) return;
  const std::string notice = "warmgate: log file " + path_ + ": " + std::generic_category().message(error) +
                             "; lines are lost (warmgate_log_lines_dropped_total counts them)\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, notice.data(), notice.size());
}

}  // namespace wg::record
