// Accepts connections on one loop and hands each to a handler. Several loops may listen on one address
// (SO_REUSEPORT). Out of descriptors: pauses for 100 ms at a time, and says so once, instead of spinning.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/error.h"
#include "net/stream.h"

namespace wg::net {

class Listener {
 public:
  using Accepted = std::function<void(Stream)>;
  using Trouble = std::function<void(std::string_view)>;

  // Binds at once; port 0 takes any free port. Errors say the address and why.
  static Result<Listener> bind(Loop& loop, const std::string& host, std::uint16_t port, bool shared);
  Listener(Listener&&) noexcept;
  ~Listener();

  std::uint16_t port() const;
  void start(Accepted accepted, Trouble trouble);  // on the loop, or before it runs
  void stop();                                     // no more connections; those accepted live on

 private:
  struct State;
  explicit Listener(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;  // shared with the pending accept
};

}  // namespace wg::net
