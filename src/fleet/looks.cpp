// Those that wait are looked at with each event, which changes one replica or two: the others have said no already. So
// a look at all replicas, and pricing them, is for those alone whom it can help.
#include <algorithm>
#include <utility>

#include "fleet/state.h"

namespace wg::fleet {

// False: what has changed since its last look says no as well, so that there is nothing to choose.
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

}  // namespace wg::fleet
