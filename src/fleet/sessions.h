// The sessions: a bounded table with each one's home, and for each replica how many active sessions call it home.
// Invariants: the table never fails and never grows past its limit; a count equals the sessions that have a turn in
// flight or ended one less than active_for ago; finding it scans nothing. Owner: the fleet.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "core/bounded_map.h"
#include "fleet/fleet.h"

namespace wg::fleet {

struct Session {
  SessionState state;
  std::uint64_t serial = 0;              // tells this entry from an earlier one of the same key that was evicted
  std::uint64_t used = 0;                // grows with each use
  std::uint64_t ends = 0;                // turns ended: tells which entry of the queue of ends is the latest
  bool active = false;                   // counted at its home
  std::array<SessionKey, 4> lineages{};  // the latest first

  void remember(const SessionKey& lineage) {
    if (!lineage) return;
    const auto known = std::find(lineages.begin(), lineages.end(), lineage);
    const auto last = known == lineages.end() ? known - 1 : known;
    *last = lineage;
    std::rotate(lineages.begin(), last, last + 1);
  }
};

class SessionTable {
 public:
  SessionTable(std::size_t limit, Duration active_for);

  std::size_t size() const { return sessions_.size(); }
  std::size_t ends_kept() const { return ends_.size(); }  // at most twice the limit
  Session* use(const SessionKey& key);                    // marks as used; nullptr if unknown
  const Session* peek(const SessionKey& key) const { return sessions_.peek(key); }
  Session* peek(const SessionKey& key, std::uint64_t serial);  // nullptr if unknown or another life of that key

  // Returned references hold until the next non-const call.
  Session& open(const RequestArrived& first);
  void set_home(Session& session, ReplicaIndex home);
  void begin_turn(Session& session);
  void end_turn(Session& session, TimePoint now);
  void close(const SessionKey& key);

  // Takes sessions that have been idle for active_for off the counts. Before each decision.
  void expire(TimePoint now);
  std::uint32_t active_at(ReplicaIndex home) const { return home < active_.size() ? active_[home] : 0; }
  // As if expired until `now`, by replica index.
  std::vector<std::uint32_t> active_by_replica(TimePoint now) const;
  std::vector<SessionState> latest(std::size_t limit) const;

 private:
  struct End {
    TimePoint at;
    SessionKey key;
    std::uint64_t serial, ends;
  };
  // Whether that end is the session's last word.
  bool is_last_word(const End& end, const Session* session) const;
  void forget_old_ends();
  void set_active(Session& session, bool active);
  std::uint32_t& count_at(ReplicaIndex home);

  BoundedMap<SessionKey, Session> sessions_;
  Duration active_for_;
  std::uint64_t serials_ = 0, uses_ = 0;
  std::deque<End> ends_;               // in order of time
  std::vector<std::uint32_t> active_;  // by replica index
};

}  // namespace wg::fleet
