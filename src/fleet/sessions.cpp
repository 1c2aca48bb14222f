#include "fleet/sessions.h"

#include <algorithm>

#include "core/assert.h"

namespace wg::fleet {

SessionTable::SessionTable(std::size_t limit, Duration active_for) : sessions_(limit), active_for_(active_for) {}

Session* SessionTable::use(const SessionKey& key) {
  Session* session = sessions_.touch(key);
  if (session) session->used = ++uses_;
  return session;
}

Session* SessionTable::peek(const SessionKey& key, std::uint64_t serial) {
  Session* session = sessions_.peek(key);
  return session && session->serial == serial ? session : nullptr;
}

Session& SessionTable::open(const RequestArrived& first) {
  Session made;
  made.state.key = first.session;
  made.state.parent = first.parent;
  made.state.pool = first.pool;
  made.state.kind = first.kind;
  made.serial = ++serials_;
  made.used = ++uses_;
  return sessions_.put(first.session, made,
                       [this](const SessionKey&, Session& evicted) { set_active(evicted, false); });
}

void SessionTable::set_home(Session& session, ReplicaIndex home) {
  const bool active = session.active;
  set_active(session, false);
  session.state.home = home;
  set_active(session, active);
}

void SessionTable::begin_turn(Session& session) {
  ++session.state.turns;
  ++session.state.in_flight;
  set_active(session, true);
}

void SessionTable::end_turn(Session& session, TimePoint now) {
  if (session.state.in_flight == 0) return WG_BUG("a session's in-flight count would go below zero");
  --session.state.in_flight;
  session.state.last_end = now;
  ++session.ends;
  ends_.push_back({now, session.state.key, session.serial, session.ends});
  if (ends_.size() > 2 * sessions_.limit()) forget_old_ends();
}

// Of each session only the last end counts, so a flood of turns leaves no more of them than there are sessions.
void SessionTable::forget_old_ends() {
  std::erase_if(ends_, [this](const End& end) { return !is_last_word(end, sessions_.peek(end.key)); });
}

void SessionTable::close(const SessionKey& key) {
  if (Session* session = sessions_.peek(key)) set_active(*session, false);
  sessions_.erase(key);
}

bool SessionTable::is_last_word(const End& end, const Session* session) const {
  return session && session->active && session->serial == end.serial && session->ends == end.ends &&
         session->state.in_flight == 0;
}

void SessionTable::expire(TimePoint now) {
  while (!ends_.empty() && now - ends_.front().at >= active_for_) {
    Session* session = sessions_.peek(ends_.front().key);
    if (is_last_word(ends_.front(), session)) set_active(*session, false);
    ends_.pop_front();
  }
}

std::vector<std::uint32_t> SessionTable::active_by_replica(TimePoint now) const {
  std::vector<std::uint32_t> counts = active_;
  for (const End& end : ends_) {
    if (now - end.at < active_for_) break;
    const Session* session = sessions_.peek(end.key);
    if (is_last_word(end, session) && session->state.home != no_replica) --counts[session->state.home];
  }
  return counts;
}

std::vector<SessionState> SessionTable::latest(std::size_t limit) const {
  std::vector<const Session*> all;
  all.reserve(sessions_.size());
  sessions_.for_each([&](const SessionKey&, const Session& session) { all.push_back(&session); });
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(limit, all.size()));
  std::partial_sort(all.begin(), end, all.end(), [](const Session* a, const Session* b) { return a->used > b->used; });
  std::vector<SessionState> states;
  states.reserve(static_cast<std::size_t>(end - all.begin()));
  std::for_each(all.begin(), end, [&](const Session* session) { states.push_back(session->state); });
  return states;
}

void SessionTable::set_active(Session& session, bool active) {
  if (session.state.home != no_replica && session.active != active) {
    std::uint32_t& count = count_at(session.state.home);
    active ? ++count : --count;
  }
  session.active = active;
}

std::uint32_t& SessionTable::count_at(ReplicaIndex home) {
  if (home >= active_.size()) active_.resize(home + 1);
  return active_[home];
}

}  // namespace wg::fleet
