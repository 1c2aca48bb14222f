#include "net/stream.h"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/assert.h"
#include "net/stream_state.h"

namespace wg::net {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {
constexpr std::size_t ahead_limit = 16 * 1024;
constexpr std::size_t ahead_block = 4 * 1024;
constexpr Duration look_behind_every = std::chrono::milliseconds(500);

IoError closed_or(const boost::system::error_code& error, IoError if_aborted) {
  return error == asio::error::operation_aborted ? if_aborted : IoError::closed;
}
}  // namespace

std::string_view name_of(IoError error) {
  switch (error) {
    case IoError::refused:
      return "refused";
    case IoError::closed:
      return "closed";
    case IoError::timed_out:
      return "timed out";
    case IoError::cancelled:
      return "cancelled";
    case IoError::exhausted:
      return "out of descriptors";
  }
  return "";
}

Stream::State::State(Loop& its_loop, tcp::socket&& fresh)
    : loop(its_loop),
      socket(std::move(fresh)),
      look_behind(loop, [this] { look_behind_the_bytes(); }),
      read_deadline(loop, [this] { on_deadline(); }),
      write_deadline(loop, [this] { on_deadline(); }) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(tcp::no_delay(true), ignored);
}

void Stream::State::on_deadline() {
  interruption = IoError::timed_out;
  boost::system::error_code ignored;
  socket.cancel(ignored);
}

void Stream::State::close_socket(bool with_reset) {
  boost::system::error_code ignored;
  if (with_reset) socket.set_option(asio::socket_base::linger(true, 0), ignored);
  gone = nullptr;
  arrived = nullptr;
  look_behind.cancel();
  read_deadline.cancel();
  write_deadline.cancel();
  socket.close(ignored);
}

// ---- reading ----

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

// ---- writing ----

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

// ---- life ----

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Stream::~Stream() {
  if (!state_) return;
  state_->close_socket(false);
  state_->drop();
}

void Stream::cancel() {
  state_->interruption = IoError::cancelled;
  boost::system::error_code ignored;
  state_->socket.cancel(ignored);
}

Duration Stream::age() const { return state_->loop.now() - state_->connected; }

bool Stream::idle_and_open() const {
  char byte;
  const ssize_t size = ::recv(state_->socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void Stream::discard_arrived() {
  std::array<char, 16 * 1024> unwanted;
  for (int i = 0; i < 64; ++i)
    if (::recv(state_->socket.native_handle(), unwanted.data(), unwanted.size(), MSG_DONTWAIT) <= 0) return;
}

void Stream::close() { state_->close_socket(false); }
void Stream::reset() { state_->close_socket(true); }
void Stream::shutdown_write() {
  boost::system::error_code ignored;
  state_->socket.shutdown(tcp::socket::shutdown_send, ignored);
}

}  // namespace wg::net
