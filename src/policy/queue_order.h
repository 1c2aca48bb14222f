// Who goes first among requests that wait for a seat: by arrival, with leads. A person who waits for an answer goes
// before a step of an agent's loop, that before a sub-agent and that before a background call; and what is read fast
// before what is read slowly. Leads and not ranks of their own, so that the order ages and nobody is passed for ever.
// Pure; any thread.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace wg::policy {

// person: the turn follows an answer that ended a turn. foreground: any other turn of a conversation.
enum class Urgency : std::uint8_t { person, foreground, sub_agent, background };

// How far one of that urgency stands behind a person who came at the same time.
Duration lag_of(Urgency urgency);

// ... and for each second of reading: shortest first, with ageing. Measured (docs/policies/warm.md): 0 makes the median
// of real sessions a third longer, 3 the slowest turns.
inline constexpr double lag_per_reading = 2;

struct QueueKey {
  TimePoint due;             // arrival plus lag
  std::uint64_t number = 0;  // of the arrival: settles ties

  auto operator<=>(const QueueKey&) const = default;
};
// `reading_s`: what its prompt will take to read, 0 or more. Of one who asks for a seat for many turns, not for one
// reading, the caller says 0.
QueueKey queue_key(TimePoint arrived, std::uint64_t number, Urgency urgency, double reading_s);

// How many waiters that do not fit anywhere may be skipped in one look at the queue, and how often one may be overtaken
// before the queue waits for it: big contexts would starve behind small ones.
inline constexpr std::uint32_t most_skipped = 4, most_overtaken = 8;

}  // namespace wg::policy
