// What `warm` sees of each replica, and what it makes of it for one request.
#include <algorithm>
#include <utility>

#include "fleet/state.h"

namespace wg::fleet {

namespace {
// In `throughput` mode residents have no quantum, but nobody waits longer than this for one of them to end.
constexpr Duration longest_wait = std::chrono::minutes(10);
}  // namespace

// The residents of a replica have grown out of it together, and each turn reads again what the others' have thrown out.
// k residents with an overflow O give k turns in T + k pf(O) seconds, one less gives k - 1 in T.
bool Fleet::State::outgrown(const Lineage& lineage, const Seat& seat, const Request& request) const {
  const Standing& its = book.standing(lineage.home);
  const Forecast forecast = book.forecast();
  const double residents = its.seated;
  const Tokens need = std::max(seat.own, forecast.need_now(forecast.asking(request.reading), lineage.home));
  const Tokens over = need - seat.own - its.room;
  if (over <= Tokens{} || residents < 2) return false;
  const double turn_s = its.turn_s + forecast.pause_s(lineage);
  return residents * (residents - 1) * its.read_s(over, lineage.context - over) > turn_s;
}

double Fleet::State::waiting_per_seat(PoolIndex pool) const {
  double seats = 0;
  for (const EngineIndex engine : replicas.engines_of(pool))
    for (const ReplicaIndex index : replicas.engine(engine).rank_rows) seats += book.standing(index).seated;
  return static_cast<double>(waiting[pool].queue.size()) / std::max(seats, 1.0);
}

// Those that have a seat or wait for one.
double Fleet::State::sessions_per_replica(PoolIndex pool) const {
  double active = static_cast<double>(waiting[pool].queue.size()), up = 0;
  for (const EngineIndex engine : replicas.engines_of(pool))
    for (const ReplicaIndex index : replicas.engine(engine).rank_rows) {
      if (!replicas.up(replicas.row(index))) continue;
      active += book.standing(index).seated;
      ++up;
    }
  return active / std::max(up, 1.0);
}

// A resident has had its quantum: whether the first of the queue has waited long enough. The resident's own context
// stands for those of all.
bool Fleet::State::is_rotation_due(const Lineage& lineage, PoolIndex pool, double crowd) const {
  const Forecast forecast = book.forecast();
  const Asking asking = forecast.asking(lineage);
  const policy::ServiceFacts facts = forecast.service(asking, lineage.home);
  const Request& first = requests.at(waiting[pool].queue.begin()->second);
  return policy::is_rotation_due(crowd, to_seconds(now - first.arrived), facts.reread_s,
                                 policy::wait_without_seats_s(facts, sessions_per_replica(pool), asking.gap_s));
}

// Whether a resident is to make way for those that wait.
bool Fleet::State::yields(const Seat& seat, const Request& request) const {
  const PoolIndex pool = request.asked.pool;
  const WaitingRoom& room = waiting[pool];
  const Lineage* const lineage = book.find(seat.lineage);
  if (!lineage) return true;
  if (outgrown(*lineage, seat, request)) return true;
  if (room.queue.empty()) return false;
  const Standing& its = book.standing(lineage->home);
  const double crowd = waiting_per_seat(pool);
  const auto quantum =
      its.quantum(rules[pool].warm.mode, its.rotation_s(lineage->context), book.forecast().pause_s(*lineage), crowd);
  if (quantum) return seat.turns >= *quantum && is_rotation_due(*lineage, pool, crowd);
  return seat.turns >= policy::least_quantum && now - room.queue.begin()->first.due > longest_wait;
}

// At home, if that is up. nullptr: it has none.
const Seat* Fleet::State::seat_of(const Request& request) const {
  const Lineage* const lineage = book.find(request.reading.lineage);
  if (!lineage || lineage->home == no_replica || !replicas.up(replicas.row(lineage->home))) return nullptr;
  return book.replica(lineage->home).seats.find(request.reading.lineage);
}

// One turn beside another of its lineage is most likely the same conversation once more. Of many nobody knows what they
// have in common: they are let in as others are.
bool Fleet::State::may_stay(const Request& request) const {
  const Seat* const seat = seat_of(request);
  if (!seat) return false;
  return seat->in_flight > 0 ? seat->in_flight <= policy::most_beside : !yields(*seat, request);
}

// For the record of its decision: of one that may not stay, or whose home could not take it after all.
const char* Fleet::State::why_not_stay(const Request& request) const {
  const Lineage* const lineage = book.find(request.reading.lineage);
  if (!lineage || lineage->home == no_replica) return "it was new";
  if (!replicas.up(replicas.row(lineage->home))) return "its home was down";
  const Seat* const seat = seat_of(request);
  if (!seat) return "no seat was held for it";
  if (seat->in_flight > 0) return "turns of it were under way already";
  if (outgrown(*lineage, *seat, request)) return "the residents of its home had outgrown the cache";
  return yields(*seat, request) ? "others waited, and its quantum was over" : "its home could not take it";
}

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

// Those that wait are looked at with each event, which changes one replica or two: the others have said no already.
// False: these say no as well, so that there is nothing to choose.
bool Fleet::State::is_worth_a_look(Request& request) {
  const std::uint64_t seen = std::exchange(request.seen_changes, book.changes());
  const std::uint64_t fresh_starts = waiting[request.asked.pool].fresh_starts;
  // What is larger than a cache waits for a larger one.
  if (std::exchange(request.seen_fresh_starts, fresh_starts) != fresh_starts || now >= request.look_at_all_by ||
      seen < book.last_resize() || book.changes() - seen > WarmBook::changes_known) {
    request.look_at_all_by = TimePoint::max();
    return one_may_take(request);
  }
  if (seen == book.changes()) return false;
  const Asking asking = book.forecast().asking(request.reading);
  for (std::uint64_t change = seen + 1; change <= book.changes(); ++change) {
    const ReplicaIndex at = book.changed_by(change);
    const Row& row = replicas.row(at);
    if (row.state.pool == request.asked.pool && replicas.up(row) && may_take_now(request, asking, at) &&
        !rather_waits_for_home(request, asking, at))
      return true;
  }
  return false;
}

// Or none is up, and it is to hear of that.
bool Fleet::State::one_may_take(const Request& request) const {
  const Asking asking = book.forecast().asking(request.reading);
  bool one_is_up = false;
  for (const EngineIndex index : replicas.engines_of(request.asked.pool)) {
    if (!replicas.engine(index).health.up()) continue;
    one_is_up = true;
    for (const ReplicaIndex at : replicas.engine(index).rank_rows)
      if (may_take_now(request, asking, at)) return true;
  }
  return !one_is_up;
}

// By a glance, at a replica that is up: no for sure, or else perhaps.
bool Fleet::State::may_take_now(const Request& request, const Asking& asking, ReplicaIndex at) const {
  if (std::find(request.tried.begin(), request.tried.end(), at) != request.tried.end()) return false;
  if (!rules[request.asked.pool].warm.late_binding) return true;
  if (asking.lineage && at == asking.lineage->home && seat_of(request)) return true;
  return !policy::is_hopeless(book.forecast().glance(asking, at)) && may_be_sent_to(at);
}

// If that replica were the best that there is.
bool Fleet::State::rather_waits_for_home(Request& request, const Asking& asking, ReplicaIndex at) const {
  const ReplicaIndex home = asking.lineage ? asking.lineage->home : no_replica;
  if (at == home || home == no_replica || !request.tried.empty() || !rules[request.asked.pool].warm.wait_for_home)
    return false;
  if (!replicas.up(replicas.row(home)) || !book.standing(home).keeps_prefixes) return false;
  const Forecast forecast = book.forecast();
  const double gain = forecast.outlook(asking, at).read_s - forecast.outlook(asking, home).read_s;
  if (!policy::is_worth_waiting(gain, to_seconds(now - request.arrived))) return false;
  request.look_at_all_by = std::min(request.look_at_all_by, request.arrived + from_seconds(gain));
  return true;
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
