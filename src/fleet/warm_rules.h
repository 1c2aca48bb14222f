// Which of `warm`'s rules are in force. All are, in service; the simulator takes one away at a time to show what it is
// worth (docs/policies/warm.md). Values only; any thread.
#pragma once

#include <optional>

#include "core/units.h"
#include "policy/quantum.h"

namespace wg::fleet {

struct WarmRules {
  policy::WarmMode mode = policy::WarmMode::latency;
  std::optional<Duration> max_wait;  // empty: nobody is refused for load
  bool holds_seats = true;           // false: another policy is in force, and nobody waits
  bool price = true;                 // false: the fewest in flight
  bool gate = true;                  // false: everybody is protected, for any pause
  bool late_binding = true;          // false: no waiting in the gateway
  bool keep_busy = true;
  bool move = true;
  bool wait_for_home = true;
  bool order = true;  // false: by arrival alone
  bool correct_ledger = true;
  bool safety_net = true;
};

}  // namespace wg::fleet
