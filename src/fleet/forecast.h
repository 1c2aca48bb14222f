// What is expected of a turn on each replica: how much of its prompt is cached there, what seat it needs, how long it
// takes to read, and for how long its seat is worth holding. Reads what is known and changes nothing.
// Invariant: figures are finite and never below zero. Owner: the fleet.
#pragma once

#include "fleet/reading.h"
#include "fleet/warm_facts.h"
#include "policy/break_even.h"
#include "policy/warm.h"

namespace wg::fleet {

// What is the same for all replicas while one request is being decided on.
struct Asking {
  const Reading* reading = nullptr;
  const Lineage* lineage = nullptr;  // nullptr: nothing is known of it
  Tokens head;                       // its size; it is the lineage's head too
  double gap_s = 0;                  // the pause that is expected behind its turn
};
// ... and what one of them makes of it.
struct Outlook {
  Tokens cached;      // of its prompt, expected to be there
  double read_s = 0;  // the rest
};

class Forecast {
 public:
  explicit Forecast(const WarmFacts& facts) : facts_(facts) {}

  Tokens prompt(const RequestArrived& asked, const Lineage& lineage) const;
  double pause_s(const Lineage& lineage) const;  // from its last answer to its next turn

  Asking asking(const Reading& reading) const;
  Asking asking(const Lineage& lineage) const;  // of its next turn, of which there is nothing to read yet
  Outlook outlook(const Asking& asking, ReplicaIndex at) const;
  policy::WarmGlance glance(const Asking& asking, ReplicaIndex at) const {
    const Standing& its = standing(at);
    const Tokens need_at_least = asking.reading->prompt + its.output - std::min(asking.head, asking.reading->prompt);
    return {its.in_flight, its.unread, need_at_least, its.room, its.leaving};
  }
  // Of a seat: whether it is more than there is room for. Where that is clear already it may be told as too little.
  Tokens need(const Asking& asking, ReplicaIndex at) const;
  Tokens need_now(const Asking& asking, ReplicaIndex at) const;  // of a seat, without what it will grow by ...
  Tokens reserve(const Asking& asking, ReplicaIndex at) const;   // ... and that
  // What is ahead of a request that waits: reading at home, or all of it; 0 if it asks for a seat that it will keep.
  double reading_ahead_s(const Reading& reading) const;
  // So much later come its answers for each seat.
  double crowd_s(ReplicaIndex at) const {
    return 2 * facts_.all_tokens.each_more_s() * static_cast<double>(standing(at).output.count);
  }

  // What a replica does for contexts like that of a lineage that is known.
  policy::ServiceFacts service(const Asking& asking, ReplicaIndex at) const;
  // g*: a pause up to this is worth a seat. Likewise.
  double break_even_s(const Asking& asking, ReplicaIndex at) const;
  // Whether its seat will be held for it behind the turn that it is in.
  bool stays(const Asking& asking, ReplicaIndex at) const;

 private:
  const WarmReplica& replica(ReplicaIndex at) const { return facts_.replicas[at]; }
  const Standing& standing(ReplicaIndex at) const { return facts_.standings[at]; }
  Tokens cached(const Asking& asking, ReplicaIndex at) const;

  const WarmFacts& facts_;
};

}  // namespace wg::fleet
