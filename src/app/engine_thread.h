// A simulated engine on a thread of its own, so that it does not wait for its clients, nor they for it. Owner: the
// thread that made it; the engine ends with it.
#pragma once

#include <cstdint>
#include <thread>

#include "net/loop.h"
#include "replica/server.h"

namespace wg::app {

class EngineThread {
 public:
  explicit EngineThread(const replica::Options& options) : server_(loop_, options) {}
  ~EngineThread() {
    if (!thread_.joinable()) return;
    loop_.stop();
    thread_.join();
  }
  Result<void> start() {
    if (auto started = server_.start(); !started) return started;
    thread_ = std::thread([this] { loop_.run(); });
    return {};
  }
  std::uint16_t port() const { return server_.port(); }

 private:
  net::Loop loop_;
  replica::Server server_;
  std::thread thread_;
};

}  // namespace wg::app
