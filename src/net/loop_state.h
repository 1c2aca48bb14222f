// What a Loop is made of; seen by net's own .cpp files only.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>

#include "net/loop.h"
#include "net/timer_wheel.h"

namespace wg::net {

struct Loop::State {
  boost::asio::io_context io{1};  // one thread runs it: no locks between handlers
  boost::asio::steady_timer ticker{io};
  TimerWheel wheel;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::atomic<std::thread::id> thread;

  std::uint64_t current_tick() const {
    return static_cast<std::uint64_t>((std::chrono::steady_clock::now() - started) / Loop::tick);
  }
  void tick_again();
};

}  // namespace wg::net
