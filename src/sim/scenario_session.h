// One session of a scenario over the virtual driver: its names, its conversation, where it was. Private to
// scenario_run.cpp. Invariant: at most one turn of it is under way; title calls run beside it.
#pragma once

#include <deque>

#include "sim/conversation.h"
#include "sim/scenario.h"
#include "sim/world.h"

namespace wg::sim {

struct ScenarioTalker {
  ScenarioSession spec;
  std::uint32_t number = 0;
  std::uint32_t life = 0;  // grows with each new key
  Conversation talk;
  std::uint32_t turns = 0;
  bool busy = false;
  std::deque<std::size_t> queue;  // turns (by index into the runner's list) that wait for the one under way

  std::string home = "-", home_before = "-", last = "-", last_before = "-";
  SessionKey last_response;

  // The key under which the gateway knows it now.
  SessionKey key() const {
    if (spec.key == "previous" && last_response) return {last_response.high, ~last_response.low};
    return {0x5e5510 + number, 1 + life};
  }
  void heard_from(const std::string& replica, policy::Route route) {
    home_before = home;
    last_before = last;
    last = replica;
    if (route == policy::Route::placed || route == policy::Route::sticky || route == policy::Route::moved)
      home = replica;
  }
};

}  // namespace wg::sim
