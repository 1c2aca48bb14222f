// What `warm` sees of each replica, and what it makes of it for one request.
#include <algorithm>

#include "fleet/state.h"

namespace wg::fleet {

policy::WarmView Fleet::State::warm_view(const Load& load, const Asking& asking, bool is_resident) const {
  const Standing& its = book.standing(load.replica);
  const Outlook outlook = book.forecast().outlook(asking, load.replica);
  policy::WarmView out;
  out.replica = load.replica;
  out.up = load.up;
  out.in_flight = static_cast<std::uint32_t>(load.in_flight);
  out.crowd_s = book.forecast().crowd_s(load.replica);
  out.seated = its.seated;
  const bool may_sit_there = out.seated > 0 && asking.lineage && asking.lineage->may_be_at(load.replica);
  if (may_sit_there && book.replica(load.replica).seats.find(asking.reading->lineage)) --out.seated;  // not by himself
  out.unread = its.unread;
  out.backlog_s = its.backlog_s(now);
  out.cached = outlook.cached;
  out.prefill_s = outlook.read_s;
  out.need = book.forecast().need(asking, load.replica);
  out.room = its.room;
  out.capacity = its.capacity.value_or(Tokens{});
  out.is_resident = is_resident;
  out.is_suspected = load.is_suspected;
  out.is_empty = its.seated == 0;
  if (out.need > out.room) {
    out.leaving = its.leaving;
    for (const Seat& seat : book.replica(load.replica).seats.all()) {
      if (seat.in_flight > 0) continue;
      out.displaced_s = std::max(out.displaced_s, seat.reread_s);
      // Memoryless: however long it has been away, the rest is expected to be the mean.
      out.expected_back_s = out.expected_back_s > 0 ? std::min(out.expected_back_s, seat.back_in_s) : seat.back_in_s;
    }
  }
  return out;
}

policy::Decision Fleet::State::warm_decision(const Request& request, bool is_resident) {
  const RequestArrived& asked = request.asked;
  const PoolRule& rule = rules[asked.pool];
  replicas.loads(asked.pool, now, loads);
  if (!request.tried.empty()) policy::leave_out_tried(loads, request.tried);

  const Asking asking = book.forecast().asking(request.reading);
  policy::WarmAsk ask;
  ask.home = asking.lineage ? asking.lineage->home : no_replica;
  if (ask.home != no_replica && !book.standing(ask.home).keeps_prefixes) ask.home = no_replica;  // it has nothing there
  ask.must_fit = rule.warm.late_binding;
  ask.keep_busy = rule.warm.keep_busy;
  ask.may_move = rule.warm.move;
  ask.wait_for_home = rule.warm.wait_for_home;
  ask.waited_s = to_seconds(now - request.arrived);
  ask.by_price = rule.warm.price;
  if (ask.home != no_replica) ask.reread_s = book.standing(ask.home).read_s(request.reading.prompt);
  for (const Load& load : loads) book.replica(load.replica).ledger.prefetch(request.reading.head);
  warm_views.clear();
  for (const Load& load : loads) {
    warm_views.push_back(warm_view(load, asking, is_resident && load.replica == ask.home));
    if (load.up) ask.largest_cache = std::max(ask.largest_cache, warm_views.back().capacity);
  }
  policy::Decision decision = policy::warm(warm_views, ask);
  // A title call lies beside the conversation: it does not take the session along.
  const Session* const session = sessions.peek(asked.session);
  if (asked.kind == RequestClass::background && session && session->state.home != no_replica)
    decision.becomes_home = false;
  return decision;
}

}  // namespace wg::fleet
