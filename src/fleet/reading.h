// What `warm` keeps of one request: what it asks for, what was expected of it when it was sent, and what was seen of it
// since. An attempt elsewhere begins with new expectations, and nothing seen. Values only; owner: the fleet.
#pragma once

#include <optional>

#include "fleet/gaps.h"

namespace wg::fleet {

struct Reading {
  SessionKey lineage, head;  // lineage zero: nothing is kept
  Tokens prompt;             // estimated
  PoolIndex pool = 0;
  std::uint32_t dialect = 0;
  std::int64_t text_bytes = 0;
  SessionKey parent_head;  // of a sub-agent: its parent's, as long as its own is not the same

  ReplicaIndex at = no_replica;  // where it is being read or answered
  TimePoint sent;
  Tokens seat;  // its part of its lineage's
  struct Expected {
    Tokens cached;
    Tokens parent_there;          // so much of its parent's head was there, and nothing of its own
    std::uint64_t copy_used = 0;  // when the copy that it should find was used last; 0: there was none
    std::optional<Tokens> depth;  // ... and how deep it lay; only where the cache's size is not told
    bool was_resident = false;    // ... and its seat had been kept
    bool is_new_there = false;    // its lineage had no copy there
    bool was_cut = false;         // it is shorter than its context was: the client has edited what was said
    std::uint32_t beside = 0;     // in flight there when it was sent
    bool clean = false;           // none of these was unread, and there was room for all
  } expected;
  struct Seen {
    double first_content_s = 0;                      // since it was sent; 0: there was none
    bool reported = false;                           // it was an answer, and no error
    bool measured = false, cached_measured = false;  // by the engine: what follows, and `cached`
    Tokens prompt, cached, output;
  } seen;
  Wait wait;  // what follows
};

}  // namespace wg::fleet
