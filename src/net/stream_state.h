// What a Stream is made of; seen by net's own .cpp files only.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <vector>

#include "net/loop_state.h"
#include "net/stream.h"

namespace wg::net {

inline IoError closed_or(const boost::system::error_code& error, IoError if_aborted) {
  return error == boost::asio::error::operation_aborted ? if_aborted : IoError::closed;
}

struct Stream::State {
  State(Loop& its_loop, boost::asio::ip::tcp::socket&& fresh);

  // Counted without atomics: a state and its pending operations live on one loop.
  struct Ref {
    explicit Ref(State* state) : state_(state) { ++state_->references; }
    Ref(Ref&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Ref(const Ref& other) : Ref(other.state_) {}
    ~Ref() {
      if (state_) state_->drop();
    }
    State* operator->() const { return state_; }

   private:
    State* state_;
  };
  void drop() {
    if (--references == 0) delete this;
  }

  // stream_read.cpp
  bool take_ahead(std::span<char> into);  // from the bytes read ahead
  void read_into(std::span<char> into);
  void on_read(const boost::system::error_code& error, std::size_t size);
  void read_ahead();
  void look_behind_the_bytes();
  void on_ahead(const boost::system::error_code& error, std::size_t size);

  // stream_write.cpp
  bool write_some();  // true: finished, write_result says how
  void wait_writable();
  void on_writable(const boost::system::error_code& error);

  // stream.cpp
  void on_deadline();
  void close_socket(bool with_reset);

  Loop& loop;
  boost::asio::ip::tcp::socket socket;
  const TimePoint connected = loop.now();
  int references = 1;

  std::coroutine_handle<> reader, writer;
  std::span<char> read_target;
  IoResult<std::size_t> read_result = 0;
  IoResult<void> write_result;
  std::vector<std::string_view> unwritten;  // of the write under way
  std::string kept;                         // of write_now: goes out before anything else

  std::function<void()> gone;
  std::function<void(std::string_view)> arrived;
  Timer look_behind;  // while what was read ahead fills its bound: has the peer closed behind it?
  std::string ahead;  // [ahead_taken, ahead_size): bytes read ahead; a pending look ahead writes behind them
  std::size_t ahead_taken = 0, ahead_size = 0;
  bool ahead_pending = false, peer_closed = false, peer_reset = false;

  IoError interruption = IoError::cancelled;  // why pending operations were cancelled
  Timer read_deadline, write_deadline;
  Duration write_timeout{};
};

}  // namespace wg::net
