// Who stays where its context is, and who makes way for those that wait.
#include <algorithm>

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

}  // namespace wg::fleet
