#include "fleet/lineage_state.h"

#include <algorithm>

#include "fleet/state.h"

namespace wg::fleet {

namespace {
WaitsFor waits_for(const Lineage& lineage) {
  if (!lineage.is_away || lineage.is_done()) return WaitsFor::nothing;
  if (lineage.wait.for_children) return WaitsFor::sub_agents;
  return is_for_a_tool(lineage.wait) ? WaitsFor::tool : WaitsFor::person;
}

void add_home(LineageState& out, const WarmBook& book, const SessionKey& key, const Lineage& lineage, TimePoint now) {
  const WarmReplica& its = book.replica(lineage.home);
  const Forecast forecast = book.forecast();
  const Tokens own = its.ledger.held(key), head = lineage.head ? its.ledger.held(lineage.head) : Tokens{};
  out.cached = std::min(own + head, lineage.context);
  if (lineage.turns > 0) out.break_even_s = forecast.break_even_s(forecast.asking(lineage), lineage.home);
  const Seat* const seat = its.seats.find(key);
  const bool is_held = seat && seat->in_flight == 0 && seat->held_until > now;
  out.has_seat = is_held || (seat && seat->in_flight > 0);
  if (is_held) out.seat_held_s = to_seconds(seat->held_until - now);
}
}  // namespace

const char* name_of(WaitsFor what) {
  switch (what) {
    case WaitsFor::tool:
      return "tool";
    case WaitsFor::person:
      return "person";
    case WaitsFor::sub_agents:
      return "sub-agents";
    case WaitsFor::nothing:
      break;
  }
  return "nothing";
}

std::vector<LineageState> Fleet::lineages(const SessionKey& session, TimePoint now) const {
  const WarmBook& book = state_->book;
  const TimePoint then = std::max(now, state_->now);
  std::vector<LineageState> all;
  const Session* const known = state_->sessions.peek(session);
  if (!known) return all;
  for (const SessionKey& key : known->lineages) {
    const Lineage* const lineage = key ? book.find(key) : nullptr;
    if (!lineage) continue;
    LineageState& out = all.emplace_back();
    out.key = key;
    out.home = lineage->home;
    out.turns = lineage->turns;
    out.in_flight = lineage->in_flight;
    out.context = lineage->context;
    out.kind = lineage->kind;
    out.waits_for = waits_for(*lineage);
    out.expected_pause_s = book.forecast().pause_s(*lineage);
    if (lineage->is_away) out.away_s = to_seconds(then - lineage->last_end);
    if (lineage->home != no_replica) add_home(out, book, key, *lineage, then);
  }
  return all;
}

}  // namespace wg::fleet
