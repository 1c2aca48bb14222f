// The admin listener: /metrics and /api/v1. Lives on the brain's loop, so it reads the fleet directly; it is for
// operators and sits on an address of its own.
#pragma once

#include <memory>
#include <string>

#include "gateway/context.h"
#include "net/listener.h"

namespace wg::console {

class Admin {
 public:
  Admin(gateway::Shared& shared, net::Listener listener);
  ~Admin();
  void start();
  void stop();
  std::uint16_t port() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the connections being served
};

}  // namespace wg::console
