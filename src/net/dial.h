// Opens a connection to host:port. Names are resolved anew for each connection, so an engine may change its address;
// each of its addresses is tried in turn within the one deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/stream.h"

namespace wg::net {

// True for an address, false for a name, which may stand for another address the next time.
bool is_address(const std::string& host);
// Connections to a name are not kept longer than this, so that the name is looked up again.
constexpr Duration name_trusted_for = std::chrono::seconds(5);

// Awaited; cancel() from elsewhere on the loop ends it with `cancelled`.
class Dial {
 public:
  Dial(Loop& loop, const std::string& host, std::uint16_t port, Duration timeout);
  ~Dial();
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> self);
  IoResult<Stream> await_resume();
  void cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with pending operations
};

}  // namespace wg::net
