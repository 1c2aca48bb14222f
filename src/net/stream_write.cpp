// Writing to a peer: at once what it takes, the rest when it can take more; at most one unfinished write.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/assert.h"
#include "net/stream_state.h"

namespace wg::net {
using boost::asio::ip::tcp;

bool Stream::State::write_some() {
  std::array<iovec, 64> vectors;
  for (;;) {
    std::size_t count = 0;
    if (!kept.empty()) vectors[count++] = {kept.data(), kept.size()};
    const bool has_kept = count == 1;
    for (const std::string_view piece : unwritten) {
      if (count == vectors.size()) break;
      if (!piece.empty()) vectors[count++] = {const_cast<char*>(piece.data()), piece.size()};
    }
    if (count == 0) {
      write_result = {};
      return true;
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      write_result = tl::unexpected(IoError::closed);
      return true;
    }
    auto left = static_cast<std::size_t>(sent);
    if (has_kept) {
      const std::size_t size = std::min(left, kept.size());
      kept.erase(0, size);
      left -= size;
    }
    std::size_t done = 0;
    for (; done < unwritten.size() && left >= unwritten[done].size(); ++done) left -= unwritten[done].size();
    unwritten.erase(unwritten.begin(), unwritten.begin() + static_cast<std::ptrdiff_t>(done));
    if (left > 0) unwritten.front().remove_prefix(left);
  }
}

void Stream::State::wait_writable() {
  if (write_timeout > Duration::zero()) write_deadline.set(write_timeout);
  socket.async_wait(tcp::socket::wait_write,
                    [self = Ref(this)](const boost::system::error_code& error) { self->on_writable(error); });
}

void Stream::State::on_writable(const boost::system::error_code& error) {
  write_deadline.cancel();
  if (error)
    write_result = tl::unexpected(closed_or(error, interruption));
  else if (!write_some())
    return wait_writable();
  unwritten.clear();
  if (const auto waiting = std::exchange(writer, nullptr)) waiting.resume();
}

Stream::Write Stream::write(std::span<const std::string_view> pieces, Duration timeout) {
  return {state_, pieces, timeout};
}

bool Stream::Write::await_ready() {
  if (!state_->socket.is_open()) {
    state_->write_result = tl::unexpected(IoError::closed);
    return true;
  }
  state_->unwritten.assign(pieces_.begin(), pieces_.end());
  if (!state_->write_some()) return false;
  state_->unwritten.clear();
  return true;
}

void Stream::Write::await_suspend(std::coroutine_handle<> self) {
  WG_ASSERT(!state_->writer);
  state_->interruption = IoError::cancelled;
  state_->writer = self;
  state_->write_timeout = timeout_;
  state_->wait_writable();
}

IoResult<void> Stream::Write::await_resume() { return state_->write_result; }

bool Stream::write_now(std::string_view bytes) {
  if (!state_->socket.is_open()) return false;
  WG_ASSERT(!state_->writer);
  // Of a peer that does not read nothing more piles up than one unfinished write.
  if (!state_->kept.empty() && !state_->write_some()) return true;
  if (!state_->write_result) return false;
  state_->kept.append(bytes);
  state_->unwritten.clear();
  return !state_->write_some() || state_->write_result.has_value();
}

}  // namespace wg::net
