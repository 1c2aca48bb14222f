// The live gateway put together: loops, brain, pollers, listeners, and their orderly end. Owner: the thread that calls
// run(), which becomes the brain's; all other calls are made on it, before run() or from the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/config.h"
#include "gateway/context.h"
#include "net/loop.h"

namespace wg::app {

class Gateway {
 public:
  explicit Gateway(const config::Config& config);  // must outlive it; throws where the log cannot be opened
  ~Gateway();

  // Binds, and begins to look at the engines. `opened` is called on the loop once clients are accepted.
  Result<void> start(std::function<void()> opened);
  int run();     // until it is drained or timeouts.drain is over (0), or drain() was called again (1)
  void drain();  // no new requests, open streams finish, run() returns; called again: at once

  net::Loop& loop() const;
  gateway::Shared& shared() const;
  std::uint16_t port() const;  // after start
  std::string url() const, admin_url() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wg::app
