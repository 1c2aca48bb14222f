// What is known of each lineage (session key + head): one session can carry several, such as a title call beside the
// conversation, and they share neither context nor pauses nor seat.
// Invariants: never more than the limit; holds nothing of a replica but where copies may be. Owner: the fleet.
#pragma once

#include <algorithm>
#include <array>

#include "core/bounded_map.h"
#include "fleet/gaps.h"

namespace wg::fleet {

struct Lineage {
  SessionKey head;
  PoolIndex pool = 0;
  Tokens context;                  // of its last turn: prompt and answer
  std::int64_t text_bytes = 0;     // of the last prompt that was counted ...
  Tokens prompt;                   // ... and how many tokens that were
  ReplicaIndex home = no_replica;  // where it was sent last; its seat is there if it has one
  std::array<ReplicaIndex, 3> copies{no_replica, no_replica, no_replica};  // the latest first
  std::uint32_t turns = 0, in_flight = 0;
  Wait wait;
  TimePoint last_end;
  bool is_away = false;                    // its last turn has ended and no next one has come
  RequestClass kind = RequestClass::turn;  // background: a title call and the like, beside the conversation
  GapHistory gaps;

  // Nobody types to a sub-agent: with an answer that calls no tool its work is done.
  bool is_done() const { return kind == RequestClass::sub_agent && wait.end == AnswerEnd::turn; }

  void went_to(ReplicaIndex replica) {
    home = replica;
    const auto known = std::find(copies.begin(), copies.end(), replica);
    std::rotate(copies.begin(), known == copies.end() ? copies.end() - 1 : known,
                known == copies.end() ? copies.end() : known + 1);
    copies.front() = replica;
  }
  bool may_be_at(ReplicaIndex replica) const {
    return std::find(copies.begin(), copies.end(), replica) != copies.end();
  }
};

using Lineages = BoundedMap<SessionKey, Lineage>;

}  // namespace wg::fleet
