// Reading from a peer, and watching it: what it sends is read ahead, so that it is known when it goes.
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "core/assert.h"
#include "net/stream_state.h"

namespace wg::net {
namespace asio = boost::asio;

namespace {
constexpr std::size_t ahead_limit = 16 * 1024;
constexpr std::size_t ahead_block = 4 * 1024;
constexpr Duration look_behind_every = std::chrono::milliseconds(500);
}  // namespace

bool Stream::State::take_ahead(std::span<char> into) {
  if (ahead_taken < ahead_size) {
    const std::size_t size = std::min(into.size(), ahead_size - ahead_taken);
    std::copy_n(ahead.data() + ahead_taken, size, into.data());
    ahead_taken += size;
    read_result = size;
    return true;
  }
  if (peer_reset)
    read_result = tl::unexpected(IoError::closed);
  else if (peer_closed)
    read_result = std::size_t{0};
  return peer_reset || peer_closed;
}

void Stream::State::read_into(std::span<char> into) {
  socket.async_read_some(
      asio::buffer(into.data(), into.size()),
      [self = Ref(this)](const boost::system::error_code& error, std::size_t size) { self->on_read(error, size); });
}

void Stream::State::on_read(const boost::system::error_code& error, std::size_t size) {
  read_deadline.cancel();
  if (!error)
    read_result = size;
  else if (error == asio::error::eof)
    read_result = std::size_t{0}, peer_closed = true;
  else
    read_result = tl::unexpected(closed_or(error, interruption));
  if (const auto waiting = std::exchange(reader, nullptr)) waiting.resume();
}

void Stream::State::read_ahead() {
  if (ahead_pending || peer_closed || peer_reset || !socket.is_open()) return;
  if (ahead_taken == ahead_size) ahead_taken = ahead_size = 0;
  if (ahead_size + ahead_block > ahead_limit) return look_behind.set(look_behind_every);
  if (ahead.size() < ahead_size + ahead_block) ahead.resize(ahead_size + ahead_block);
  ahead_pending = true;
  socket.async_read_some(
      asio::buffer(ahead.data() + ahead_size, ahead_block),
      [self = Ref(this)](const boost::system::error_code& error, std::size_t size) { self->on_ahead(error, size); });
}

void Stream::State::on_ahead(const boost::system::error_code& error, std::size_t size) {
  ahead_pending = false;
  if (!error) ahead_size += size;
  if (error == asio::error::eof)
    peer_closed = true;
  else if (error && error != asio::error::operation_aborted)
    peer_reset = true;

  if (reader) {  // somebody waits for what was being read ahead
    read_deadline.cancel();
    if (!take_ahead(read_target)) read_result = tl::unexpected(interruption);
    std::exchange(reader, nullptr).resume();
    return;
  }
  if (!error && arrived) arrived({ahead.data() + ahead_taken, ahead_size - ahead_taken});
  if (peer_closed || peer_reset) {
    if (const auto tell = std::exchange(gone, nullptr)) tell();
  } else if (gone) {
    read_ahead();
  }
}

// The kernel holds bytes that are not wanted yet, so reading cannot tell whether the peer has closed behind them.
void Stream::State::look_behind_the_bytes() {
  if (!gone || !socket.is_open()) return;
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool known = ::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
  if (known && info.tcpi_state == TCP_ESTABLISHED) return look_behind.set(look_behind_every);
  std::exchange(gone, nullptr)();
}

Stream::Read Stream::read_some(std::span<char> into, Duration timeout) { return {state_, into, timeout}; }

bool Stream::Read::await_ready() {
  if (!state_->socket.is_open()) state_->read_result = tl::unexpected(IoError::closed);
  return !state_->socket.is_open() || state_->take_ahead(into_);
}

void Stream::Read::await_suspend(std::coroutine_handle<> self) {
  WG_ASSERT(!state_->reader);
  state_->interruption = IoError::cancelled;
  state_->reader = self;
  state_->read_target = into_;
  if (timeout_ > Duration::zero()) state_->read_deadline.set(timeout_);
  if (!state_->ahead_pending) state_->read_into(into_);
}

IoResult<std::size_t> Stream::Read::await_resume() { return state_->read_result; }

void Stream::watch(std::function<void()> gone, std::function<void(std::string_view)> arrived) {
  if (state_->peer_closed || state_->peer_reset) return gone();
  state_->gone = std::move(gone);
  state_->arrived = std::move(arrived);
  state_->read_ahead();
}

void Stream::unwatch() {
  state_->gone = nullptr;
  state_->arrived = nullptr;
  state_->look_behind.cancel();
}

}  // namespace wg::net
