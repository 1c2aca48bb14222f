// The life of a turn as `warm` sees it: it has arrived, was sent, was read, told what it used, has ended. Each step is
// entered in what is known (fleet/warm_facts.h), so that the next forecast counts with it. It watches under every
// policy, so that a switch to `warm` finds it informed; it decides nothing. See docs/policies/warm.md.
// Invariants: a request that was sent is given back exactly once; nothing here is below zero. Owner: the fleet.
#pragma once

#include <array>
#include <span>

#include "fleet/forecast.h"
#include "fleet/warm_state.h"

namespace wg::fleet {

class WarmBook {
 public:
  explicit WarmBook(std::size_t session_limit) : facts_(session_limit) {}

  const WarmFacts& facts() const { return facts_; }
  Forecast forecast() const { return Forecast(facts_); }
  const WarmReplica& replica(ReplicaIndex index) const { return facts_.replicas[index]; }
  const Standing& standing(ReplicaIndex index) const { return facts_.standings[index]; }
  const Lineage* find(const SessionKey& key) const { return facts_.lineages.peek(key); }
  // Changes of replicas are numbered, and of the last ones it is known whose they were: who has seen those before looks
  // at these alone.
  std::uint64_t changes() const { return changes_; }
  ReplicaIndex changed_by(std::uint64_t change) const { return changed_[change % changes_known]; }
  static constexpr std::size_t changes_known = 64;
  std::uint64_t last_resize() const { return last_resize_; }  // the change by which a cache's size became another

  // Of a replica as such.
  void found(ReplicaIndex at, const EngineFound& engine);
  void sampled(ReplicaIndex at, const ReplicaSampled& sample, const WarmRules& rules);
  void unseat_idle(ReplicaIndex at);                  // nothing is kept for who is away
  void expire_seats(ReplicaIndex at, TimePoint now);  // that were held long enough
  void make_room(ReplicaIndex at, Tokens needed);     // the longest idle yield

  // A turn has arrived: its lineage's pause is over. `parents`: the lineages of its session's parent.
  void arrived(Reading& reading, const RequestArrived& asked, std::span<const SessionKey> parents, TimePoint now);
  void sent(RequestId id, Reading& reading, ReplicaIndex at, TimePoint now);
  void prefilled(RequestId id, Reading& reading, TimePoint now);  // its first token came
  void reported(Reading& reading, const UsageReported& usage);
  // It is over there. `came_to_its_end`: else nothing is known of what it left.
  void ended(RequestId id, Reading& reading, TimePoint now, bool came_to_its_end, const WarmRules& rules);

  // A request of a sub-agent of its session has come: if the lineage is away it is that which it waits for, and what
  // its seat is worth is reckoned anew.
  void child_came(const SessionKey& lineage, const WarmRules& rules);
  // The lineage yields its seat, if it is idle.
  void unseat(const SessionKey& lineage);
  // It will not come again.
  void forget(const SessionKey& lineage);

 private:
  Lineage& lineage_of(const SessionKey& key, const RequestArrived& asked);
  SessionKey head_of_parent(const SessionKey& own_head, std::span<const SessionKey> parents) const;
  bool is_believable(const Reading& reading, const UsageReported& usage) const;
  void end_turn(const Reading& reading, Tokens context, bool was_answered, TimePoint now);
  void keep_or_yield(Seat& seat, ReplicaIndex at, const WarmRules& rules);
  void changed(ReplicaIndex at);
  void unseat_at(ReplicaIndex at, const SessionKey& lineage);

  WarmFacts facts_;
  std::uint64_t changes_ = 0, last_resize_ = 0;
  std::array<ReplicaIndex, changes_known> changed_{};
};

}  // namespace wg::fleet
