#include "policy/warm.h"

#include <algorithm>

namespace wg::policy {

namespace {
// Of one that admission() says no to, the first reason that it had.
const char* why_not(const WarmView& view) {
  if (!view.up) return "down, or it failed there";
  if (view.is_suspected) return "it may be dying";
  if (view.unread >= most_unread) return "enough is unread there";
  return view.is_empty ? "larger than its cache, and another is not" : "no room";
}

Candidate priced(const WarmView& view, const WarmAsk& ask, Admission how) {
  Candidate c;
  c.replica = view.replica;
  c.in_flight = view.in_flight;
  c.backlog_s = view.backlog_s;
  c.prefill_s = view.prefill_s;
  c.crowd_s = seat_turns * view.crowd_s * std::max(view.in_flight, view.seated);
  c.displaced_s = how == Admission::fits || how == Admission::next ? 0 : view.displaced_s;
  c.cached = view.cached;
  c.room = view.room;
  c.capacity = view.capacity;
  c.need = view.need;
  c.unread = view.unread;
  c.is_resident = view.is_resident;
  c.may_take = how != Admission::no;
  if (!c.may_take) c.why_not = why_not(view);
  c.cost_s = ask.by_price ? c.backlog_s + c.prefill_s + c.crowd_s + c.displaced_s : c.in_flight;
  return c;
}

const char* rule_of(Admission how, bool at_home, bool has_home) {
  if (how == Admission::next) return "seat: that of one who leaves";
  if (how == Admission::alone) return "seat: larger than what is free, but alone there";
  if (how == Admission::keeps_busy) return "seat: the replica would be idle for longer than reading again takes";
  if (at_home) return "seat: home";
  return has_home ? "move: cheaper than home" : "seat: the cheapest";
}

}  // namespace

Admission admission(const WarmView& view, const WarmAsk& ask) {
  if (!view.up) return Admission::no;
  if (view.is_resident) return Admission::fits;
  if (view.is_suspected) return Admission::no;
  if (!ask.must_fit) return Admission::fits;
  if (view.unread >= most_unread) return Admission::no;
  if (view.need <= view.room) return Admission::fits;
  // One may stand ready inside the engine, which takes it as soon as a leaving one frees its room: the way from here
  // takes time. Not where the cache of somebody away is kept, for the engine would take that first.
  if (view.unread == 0 && view.expected_back_s <= 0 && view.need <= view.room + view.leaving) return Admission::next;
  if (view.in_flight > 0) return Admission::no;
  // Larger than its cache. A larger one, if there is one that holds it, is worth waiting for.
  if (view.is_empty)
    return view.capacity < ask.largest_cache && view.need <= ask.largest_cache ? Admission::no : Admission::alone;
  // Nothing is in flight, yet the cache is kept for some that are away. Worth it if they are back before what the
  // newcomer displaces could have been read again.
  return ask.keep_busy && view.expected_back_s > view.displaced_s ? Admission::keeps_busy : Admission::no;
}

Decision warm(std::span<const WarmView> pool, const WarmAsk& ask) {
  Decision decision;
  decision.candidates.reserve(pool.size());
  std::size_t best = pool.size(), home = pool.size(), full_home = pool.size();
  for (std::size_t i = 0; i < pool.size(); ++i) {
    decision.candidates.push_back(priced(pool[i], ask, admission(pool[i], ask)));
    const Candidate& c = decision.candidates.back();
    if (!c.may_take && c.replica == ask.home) full_home = i;
    if (!c.may_take) continue;
    if (best == pool.size() || c.cost_s < decision.candidates[best].cost_s) best = i;
    if (c.replica == ask.home) home = i;
  }
  if (best == pool.size()) return decision;
  if (full_home != pool.size() && ask.wait_for_home && pool[full_home].up) {
    const double gain = pool[best].prefill_s - pool[full_home].prefill_s;
    if (is_worth_waiting(gain, ask.waited_s)) {
      decision.patience_s = gain;
      return decision;
    }
  }
  if (home != pool.size() && home != best) {
    const double gain = decision.candidates[home].cost_s - decision.candidates[best].cost_s;
    const double enough = std::max(least_gain_to_move_s, reread_share_to_move * ask.reread_s);
    if (!ask.may_move || gain <= enough) best = home;
  }
  const bool at_home = pool[best].replica == ask.home;
  decision.replica = pool[best].replica;
  decision.route = at_home ? Route::sticky : ask.home == no_replica ? Route::placed : Route::moved;
  decision.rule = rule_of(admission(pool[best], ask), at_home, ask.home != no_replica);
  decision.becomes_home = true;
  return decision;
}

}  // namespace wg::policy
