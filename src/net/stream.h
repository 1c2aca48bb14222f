// A connected TCP socket on one loop. Reading and writing are awaited; a write waits until the kernel has taken all, so
// backpressure needs no queue. A deadline and cancel() end a pending operation with a status, never with silence.
// Invariants: at most one read and one write pending; used on its loop's thread only.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "core/units.h"
#include "net/loop.h"

namespace wg::net {

enum class IoError : std::uint8_t {
  refused,    // nobody listens, or no such host
  closed,     // the peer closed or reset the connection
  timed_out,  // the deadline passed
  cancelled,  // cancel() was called
  exhausted   // out of descriptors or memory
};
std::string_view name_of(IoError error);

template <class T>
using IoResult = tl::expected<T, IoError>;

class Stream {
 public:
  struct State;

  Stream() = default;
  explicit Stream(State* state) : state_(state) {}
  Stream(Stream&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  explicit operator bool() const { return state_ != nullptr; }

  class Read;
  class Write;
  // Some bytes into `into`; 0: the peer has closed its side. No deadline if `timeout` is zero.
  Read read_some(std::span<char> into, Duration timeout);
  // All bytes of all pieces, which must stay valid until the await is over. The deadline counts from the last progress.
  Write write(std::span<const std::string_view> pieces, Duration timeout);

  // Writes what the kernel takes now and keeps the rest in front of the next write; if the kernel does not even take
  // what was kept before, `bytes` are dropped. For signs of life sent while the owner awaits something else; not while
  // a write is pending. False if the connection is broken.
  bool write_now(std::string_view bytes);

  // Reads ahead while nobody else reads: `gone` is called once, from the loop, when the peer closes or resets. Bytes
  // that come meanwhile are kept (up to a bound) for the next read_some(); `arrived`, if given, is called with all of
  // them each time some come.
  void watch(std::function<void()> gone, std::function<void(std::string_view)> arrived = nullptr);
  void unwatch();

  Duration age() const;        // since it was connected
  void cancel();               // pending operations end with `cancelled`
  bool idle_and_open() const;  // nothing to read and not closed by the peer: fit to be used again
  void discard_arrived();      // bytes that are here already, without waiting; bounded
  void close();                // orderly; what was written is still delivered
  void reset();                // RST: the peer sees that the stream was broken
  void shutdown_write();

 private:
  State* state_ = nullptr;  // reference-counted with the operations that the loop still holds
};

class Stream::Read {
 public:
  Read(State* state, std::span<char> into, Duration timeout) : state_(state), into_(into), timeout_(timeout) {}
  bool await_ready();
  void await_suspend(std::coroutine_handle<> self);
  IoResult<std::size_t> await_resume();

 private:
  State* state_;
  std::span<char> into_;
  Duration timeout_;
};

class Stream::Write {
 public:
  Write(State* state, std::span<const std::string_view> pieces, Duration timeout)
      : state_(state), pieces_(pieces), timeout_(timeout) {}
  bool await_ready();
  void await_suspend(std::coroutine_handle<> self);
  IoResult<void> await_resume();

 private:
  State* state_;
  std::span<const std::string_view> pieces_;
  Duration timeout_;
};

}  // namespace wg::net
