// What the API and `warmgate status --session` show of a session's lineages: where each has its copy, what it waits
// for, and what its seat is worth. Figures that nobody has counted are marked as estimated. Values only; any thread.
#pragma once

#include "fleet/events.h"

namespace wg::fleet {

// What a lineage is away for; `nothing`: a turn of it is under way, or it will not come back.
enum class WaitsFor : std::uint8_t { nothing, tool, person, sub_agents };
const char* name_of(WaitsFor what);

// One conversation of a session, or a title call beside it.
struct LineageState {
  SessionKey key;
  ReplicaIndex home = no_replica;
  std::uint32_t turns = 0, in_flight = 0;
  Tokens context;     // as counted of its last turn: prompt and answer
  Tokens cached;      // ... of which its home's cache should hold so much; estimated
  double away_s = 0;  // since its last turn ended; 0 while one is under way
  WaitsFor waits_for = WaitsFor::nothing;
  double expected_pause_s = 0;             // from its last answer to its next turn; estimated
  double break_even_s = 0;                 // g*: a pause up to this is worth a seat; estimated; 0: it has no home
  RequestClass kind = RequestClass::turn;  // background: beside the conversation
  bool has_seat = false;
  double seat_held_s = 0;  // for so long yet, while it is away
};

}  // namespace wg::fleet
