// A stream's beginning and end; stream_read.cpp and stream_write.cpp are what happens between.
#include "net/stream.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "net/stream_state.h"

namespace wg::net {
namespace asio = boost::asio;
using asio::ip::tcp;

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
