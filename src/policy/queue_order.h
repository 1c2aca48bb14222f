// Who goes first among requests that wait for a seat: by arrival, the foreground with a lead over sub-agents and these
// over background calls. A lead and not a rank of its own, so that the order ages and nobody is passed for ever.
// Pure; any thread.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace wg::policy {

enum class Urgency : std::uint8_t { foreground, sub_agent, background };

// The lead that the foreground has over one of that urgency.
Duration lag_of(Urgency urgency);

struct QueueKey {
  TimePoint due;             // arrival plus lag
  std::uint64_t number = 0;  // of the arrival: settles ties

  auto operator<=>(const QueueKey&) const = default;
};
QueueKey queue_key(TimePoint arrived, std::uint64_t number, Urgency urgency);

// How many waiters that do not fit anywhere may be skipped in one look at the queue, and how often one may be overtaken
// before the queue waits for it: big contexts would starve behind small ones.
inline constexpr std::uint32_t most_skipped = 4, most_overtaken = 64;

}  // namespace wg::policy
