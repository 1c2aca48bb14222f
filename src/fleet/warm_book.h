// What `warm` knows and expects: lineages, what each replica's cache should hold, who has a seat there, what has been
// sent to it and not read yet, and what it was seen to do. It watches under every policy, so that a switch to `warm`
// finds it informed; it decides nothing. See docs/policies/warm.md.
// Invariants: a request that was sent is given back exactly once; nothing here is below zero. Owner: the fleet.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "fleet/cache_size.h"
#include "fleet/counter_watch.h"
#include "fleet/heads.h"
#include "fleet/learnt.h"
#include "fleet/ledger.h"
#include "fleet/lineages.h"
#include "fleet/seats.h"
#include "fleet/tokens_per_byte.h"
#include "fleet/warm_rules.h"
#include "fleet/warm_state.h"
#include "policy/warm.h"

namespace wg::fleet {

// What the book keeps of one request.
struct Reading {
  SessionKey lineage, head;      // lineage zero: nothing is kept
  ReplicaIndex at = no_replica;  // where it is being read or answered
  Tokens prompt;                 // estimated
  PoolIndex pool = 0;
  std::uint32_t dialect = 0;
  std::int64_t text_bytes = 0;
  SessionKey parent_head;       // of a sub-agent: its parent's, as long as its own is not the same
  Tokens parent_there;          // so much of that was where it was sent, and nothing of its own
  Tokens cached;                // expected where it was sent
  std::uint64_t copy_used = 0;  // when the copy that it should find there was used last
  std::optional<Tokens> depth;  // ... and how deep it lay; only where the cache's size is not told
  bool was_resident = false;    // ... and its seat had been kept
  bool is_new_there = false;    // its lineage had no copy there
  bool was_cut = false;         // it is shorter than its context was: the client has edited what was said
  bool unread = false;          // sent, and not prefilled
  bool clean = false;
  std::uint32_t beside = 0;  // in flight there when it was sent
  bool measured = false;
  double prefill_s = 0;
  TimePoint sent;
  double first_content_s = 0;
  Tokens measured_prompt, measured_cached, measured_output;
  bool cached_measured = false;
  Wait wait;  // what follows
};

struct WarmReplica {
  Ledger ledger;
  Seats seats;
  Learnt learnt;
  CacheSize size;
  std::optional<Tokens> capacity;  // its value as of the last change: asked for in each price
  KeepsPrefixes keeps;
  CounterWatch counters;
  double preemptions = -1;  // at the last look; below 0: there was none
  std::vector<RequestId> unread;
  double unread_s = 0;  // predicted, of all of these
  TimePoint read_by;    // when they should all have been prefilled
  std::uint64_t hits_expected = 0, hits_missed = 0;
  std::uint64_t told_by_answer = 0, told_by_counters = 0;  // turns whose cached tokens are known, and how

  double backlog_s(TimePoint now) const { return unread.empty() ? 0 : std::max(0.0, to_seconds(read_by - now)); }
};

// What is the same for all replicas while one request is being decided on.
struct Asking {
  const Reading* reading = nullptr;
  const Lineage* lineage = nullptr;  // nullptr: nothing is known of it
  Tokens head;                       // its size
  double gap_s = 0;                  // the pause that is expected behind its turn
};
// ... and what one of them makes of it.
struct Outlook {
  Tokens cached;      // of its prompt, expected to be there
  Tokens need;        // of a seat
  double read_s = 0;  // the rest
};

class WarmBook {
 public:
  explicit WarmBook(std::size_t session_limit) : lineages_(session_limit) {}

  WarmReplica& replica(ReplicaIndex index);
  const WarmReplica& replica(ReplicaIndex index) const { return replicas_[index]; }
  std::size_t replica_count() const { return replicas_.size(); }
  void found(ReplicaIndex index, const EngineFound& engine);
  void sampled(ReplicaIndex index, const ReplicaSampled& sample, const WarmRules& rules);

  Lineage& lineage(const SessionKey& key, const RequestArrived& asked);
  const Lineage* find(const SessionKey& key) const { return lineages_.peek(key); }
  const GapModel& gaps() const { return gaps_; }

  template <class Visit>
  void for_each_lineage(Visit&& visit) const {
    lineages_.for_each([&](const SessionKey&, const Lineage& lineage) { visit(lineage); });
  }
  const Heads& heads() const { return heads_; }
  WarmReplicaState state_of(ReplicaIndex index, TimePoint now) const;

  // A turn has arrived: its lineage's pause is over. `parents`: the lineages of its session's parent.
  void arrived(Reading& reading, const RequestArrived& asked, std::span<const SessionKey> parents, TimePoint now);
  Asking asking(const Reading& reading) const;
  Outlook outlook(const Asking& asking, ReplicaIndex at) const;
  Tokens need_now(const Asking& asking, ReplicaIndex at) const;  // without what it will grow by
  policy::WarmGlance glance(const Asking& asking, ReplicaIndex at) const;
  double reread_s(const Reading& reading, ReplicaIndex at) const;
  // What is ahead of a request that waits: reading at home, or all of it; 0 if it asks for a seat that it will keep.
  double reading_ahead_s(const Reading& reading) const;
  // C and g* there.
  Tokens capacity(ReplicaIndex at) const;  // unknown: far more than any
  bool keeps_prefixes(ReplicaIndex at) const { return !replicas_[at].keeps.no(); }
  double crowd_s(ReplicaIndex at) const;
  double break_even_s(ReplicaIndex at, const Lineage& lineage, double gap_s) const;

  void sent(RequestId id, Reading& reading, ReplicaIndex at, TimePoint now);
  void prefilled(RequestId id, Reading& reading, TimePoint now);  // its first token came
  void reported(Reading& reading, const UsageReported& usage);
  // It is over there. `came_to_its_end`: else nothing is known of what it left.
  void ended(RequestId id, Reading& reading, TimePoint now, bool came_to_its_end, const WarmRules& rules);
  // It will not come again.
  void forget(const SessionKey& lineage);
  const TokensPerByte& tokens_per_byte(PoolIndex pool, std::uint32_t dialect) const;

  // The turn's lineage yields its seat, if it is idle.
  void unseat(const SessionKey& lineage);

 private:
  Tokens estimate(const RequestArrived& asked, const Lineage& lineage);
  TokensPerByte& ratio_of(PoolIndex pool, std::uint32_t dialect);
  Tokens expected_cached(const Asking& asking, ReplicaIndex at) const;
  Tokens reserve(const Asking& asking, ReplicaIndex at) const;
  bool stays(const Lineage& lineage, ReplicaIndex at, double gap_s) const;
  double quantum(ReplicaIndex at, Tokens context, double gap_s) const;
  void forget_unread(RequestId id, Reading& reading, WarmReplica& at, TimePoint now);
  void keep_or_yield(Seat& seat, const Reading& reading, TimePoint now, const WarmRules& rules);
  void look_up_cached(RequestId id, Reading& reading, WarmReplica& at);
  void learn(const Reading& reading, WarmReplica& at, TimePoint now, const WarmRules& rules);
  double usual_break_even_s(ReplicaIndex index) const;
  void correct(const Reading& reading, WarmReplica& at, TimePoint now, const WarmRules& rules);
  void resize_ledger(WarmReplica& at);

  Lineages lineages_;
  Heads heads_;
  GapModel gaps_;
  policy::PrefillFit all_;                                   // of all replicas
  InterToken all_tokens_;                                    // likewise
  std::vector<std::array<TokensPerByte, dialects>> ratios_;  // by pool
  // What a sub-agent's prompt has in common with its parent's: the list of tools, a fifth of Claude Code's head.
  Mean parent_share_{20, 0.2};
  std::vector<WarmReplica> replicas_;
};

}  // namespace wg::fleet
