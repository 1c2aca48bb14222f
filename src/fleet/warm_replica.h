// What `warm` knows of one replica: what its cache should hold, who has a seat, what has been sent to it and not read
// yet, and what it was seen to do.
// Invariants: those of its parts; `capacity` is the value of `size` since size_changed(). Owner: the fleet.
#pragma once

#include "fleet/backlog.h"
#include "fleet/cache_size.h"
#include "fleet/counter_watch.h"
#include "fleet/events.h"
#include "fleet/learnt.h"
#include "fleet/ledger.h"
#include "fleet/seats.h"
#include "fleet/standing.h"
#include "fleet/warm_rules.h"

namespace wg::fleet {

struct WarmReplica {
  Ledger ledger;
  Seats seats;
  Backlog backlog;
  Learnt learnt;
  CacheSize size;
  std::optional<Tokens> capacity;  // its value as of the last change: asked for in each price
  KeepsPrefixes keeps;
  CounterWatch counters;
  double preemptions = -1;  // at the last look; below 0: there was none
  std::uint64_t hits_expected = 0, hits_missed = 0;
  std::uint64_t emptied = 0;                               // the engine began anew, by its counters
  std::uint64_t told_by_answer = 0, told_by_counters = 0;  // turns whose cached tokens are known, and how

  void found(const EngineFound& engine);
  void sampled(const ReplicaSampled& sample, const WarmRules& rules);
  void size_changed();

  bool keeps_prefixes() const { return !keeps.no(); }
  Standing standing() const;
};

}  // namespace wg::fleet
