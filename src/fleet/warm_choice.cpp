// What `warm` sees of each replica, and what it makes of it for one request.
#include <algorithm>
#include <limits>

#include "fleet/state.h"

namespace wg::fleet {

namespace {
// In `throughput` mode residents have no quantum, but nobody waits longer than this for one of them to end.
constexpr Duration longest_wait = std::chrono::minutes(10);
}  // namespace

// The residents of a replica have grown out of it together, and each turn reads again what the others' have thrown out.
// k residents with an overflow O give k turns in T + k pf(O) seconds, one less gives k - 1 in T.
bool Fleet::State::outgrown(const Lineage& lineage, const Seat& seat, const Request& request) const {
  const WarmReplica& its = book.replica(lineage.home);
  const Forecast forecast = book.forecast();
  const double residents = static_cast<double>(its.seats.all().size());
  const Tokens need = std::max(seat.own, forecast.need_now(forecast.asking(request.reading), lineage.home));
  const Tokens over = need - seat.own - its.room();
  if (over <= Tokens{} || residents < 2) return false;
  const double turn_s = its.learnt.turn_s() + forecast.pause_s(lineage);
  return residents * (residents - 1) * its.read_s(over, lineage.context - over) > turn_s;
}

double Fleet::State::waiting_per_seat(PoolIndex pool) const {
  double seats = 0;
  for (const EngineIndex engine : replicas.engines_of(pool))
    for (const ReplicaIndex index : replicas.engine(engine).rank_rows)
      seats += static_cast<double>(book.replica(index).seats.all().size());
  return static_cast<double>(waiting[pool].queue.size()) / std::max(seats, 1.0);
}

// Whether a resident is to make way for those that wait.
bool Fleet::State::yields(const Seat& seat, const Request& request) const {
  const PoolIndex pool = request.asked.pool;
  const WaitingRoom& room = waiting[pool];
  const Lineage* const lineage = book.find(seat.lineage);
  if (!lineage) return true;
  if (outgrown(*lineage, seat, request)) return true;
  if (room.queue.empty()) return false;
  const WarmReplica& its = book.replica(lineage->home);
  const auto quantum = its.quantum(rules[pool].warm.mode, its.rotation_s(lineage->context),
                                   book.forecast().pause_s(*lineage), waiting_per_seat(pool));
  if (quantum) return seat.turns >= *quantum;
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

policy::WarmView Fleet::State::warm_view(const policy::ReplicaView& view, const Asking& asking,
                                         bool is_resident) const {
  const Outlook outlook = book.forecast().outlook(asking, view.replica);
  const WarmReplica& its = book.replica(view.replica);
  policy::WarmView out;
  out.replica = view.replica;
  out.up = view.up;
  out.in_flight = static_cast<std::uint32_t>(view.in_flight);
  out.crowd_s = book.forecast().crowd_s(view.replica);
  out.seated = static_cast<std::uint32_t>(its.seats.all().size());
  const bool may_sit_there = out.seated > 0 && asking.lineage && asking.lineage->may_be_at(view.replica);
  if (may_sit_there && its.seats.find(asking.reading->lineage)) --out.seated;  // nobody crowds himself
  out.unread = static_cast<std::uint32_t>(its.backlog.turns());
  out.backlog_s = its.backlog.seconds(now);
  out.cached = outlook.cached;
  out.prefill_s = outlook.read_s;
  out.need = outlook.need;
  out.room = its.room();
  out.capacity = its.capacity.value_or(Tokens{});
  out.is_resident = is_resident;
  out.is_suspected = view.up && !may_be_sent_to(view.replica);
  out.is_empty = its.seats.all().empty();
  if (out.need > out.room) {
    out.leaving = its.seats.leaving();
    for (const Seat& seat : its.seats.all()) {
      if (seat.in_flight > 0) continue;
      out.displaced_s = std::max(out.displaced_s, seat.reread_s);
      // Memoryless: however long it has been away, the rest is expected to be the mean.
      out.expected_back_s = out.expected_back_s > 0 ? std::min(out.expected_back_s, seat.back_in_s) : seat.back_in_s;
    }
  }
  return out;
}

Openings Fleet::State::openings_of(PoolIndex pool) const {
  constexpr Tokens none{std::numeric_limits<std::int64_t>::min() / 2};
  Openings out{.one_is_up = false, .one_is_idle = false, .most = none};
  for (const EngineIndex engine : replicas.engines_of(pool))
    for (const ReplicaIndex index : replicas.engine(engine).rank_rows) {
      if (!replicas.up(replicas.row(index))) continue;
      out.one_is_up = true;
      if (!may_be_sent_to(index)) continue;
      const WarmReplica& its = book.replica(index);
      if (its.backlog.turns() >= policy::most_unread) continue;
      out.one_is_idle = out.one_is_idle || its.seats.in_flight() == 0;
      const Tokens leaving = its.backlog.empty() ? its.seats.leaving() : Tokens{};
      out.most = std::max(out.most, its.room() + leaving - its.learnt.output());
    }
  return out;
}

// No replica that is up has a place for it: found out without pricing any. Those that wait are looked at often.
bool Fleet::State::is_hopeless(const Request& request, const Openings& openings) const {
  if (!rules[request.asked.pool].warm.late_binding) return false;
  const Forecast forecast = book.forecast();
  const Asking asking = forecast.asking(request.reading);
  const Tokens own = asking.reading->prompt - std::min(asking.head, asking.reading->prompt);
  if (openings.one_is_up && !openings.one_is_idle && own > openings.most) return true;
  bool one_is_up = false;
  for (const EngineIndex engine : replicas.engines_of(request.asked.pool))
    for (const ReplicaIndex index : replicas.engine(engine).rank_rows) {
      if (!replicas.up(replicas.row(index))) continue;
      if (std::find(request.tried.begin(), request.tried.end(), index) != request.tried.end()) continue;
      if (may_be_sent_to(index) && !policy::is_hopeless(forecast.glance(asking, index))) return false;
      one_is_up = true;
    }
  return one_is_up;
}

// Over `views`. Those that wait are looked at often, and then most replicas are full: these are priced only for the
// record of a decision, once it has fallen among the others. Home's price matters also if it is full.
policy::Decision Fleet::State::cheapest(const Asking& asking, const policy::WarmAsk& ask, bool is_resident) {
  const Forecast forecast = book.forecast();
  bool one_is_hopeless = false;
  warm_views.clear();
  for (const policy::ReplicaView& view : views) {
    const bool is_home = view.replica == ask.home;
    if (view.up && !is_home && ask.must_fit && policy::is_hopeless(forecast.glance(asking, view.replica))) {
      one_is_hopeless = true;
      policy::WarmView& full = warm_views.emplace_back();
      full.replica = view.replica;
      full.up = full.is_hopeless = true;
    } else {
      warm_views.push_back(warm_view(view, asking, is_resident && is_home));
    }
  }
  policy::Decision decision = policy::warm(warm_views, ask);
  if (decision.replica == no_replica || !one_is_hopeless) return decision;
  for (std::size_t i = 0; i < views.size(); ++i)
    if (warm_views[i].is_hopeless) warm_views[i] = warm_view(views[i], asking, false);
  return policy::warm(warm_views, ask);
}

policy::Decision Fleet::State::warm_decision(const Request& request, bool is_resident) {
  const RequestArrived& asked = request.asked;
  const PoolRule& rule = rules[asked.pool];
  replicas.loads(asked.pool, views);
  if (!request.tried.empty()) policy::leave_out_tried(views, request.tried);

  const Asking asking = book.forecast().asking(request.reading);
  policy::WarmAsk ask;
  ask.home = asking.lineage ? asking.lineage->home : no_replica;
  if (ask.home != no_replica && !book.replica(ask.home).keeps_prefixes())
    ask.home = no_replica;  // it has nothing there
  ask.must_fit = rule.warm.late_binding;
  ask.keep_busy = rule.warm.keep_busy;
  ask.may_move = rule.warm.move;
  ask.wait_for_home = rule.warm.wait_for_home;
  ask.waited_s = to_seconds(now - request.arrived);
  ask.by_price = rule.warm.price;
  for (const policy::ReplicaView& view : views)
    if (view.up)
      ask.largest_cache = std::max(ask.largest_cache, book.replica(view.replica).capacity.value_or(Tokens{}));
  if (ask.home != no_replica) ask.reread_s = book.replica(ask.home).read_s(request.reading.prompt);
  policy::Decision decision = cheapest(asking, ask, is_resident);
  // A title call lies beside the conversation: it does not take the session along.
  const Session* const session = sessions.peek(asked.session);
  if (asked.kind == RequestClass::background && session && session->state.home != no_replica)
    decision.becomes_home = false;
  return decision;
}

}  // namespace wg::fleet
