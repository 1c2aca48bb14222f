#include "policy/sticky.h"

#include <algorithm>

#include "policy/least.h"

namespace wg::policy {

namespace {
bool over(const ReplicaView& view) { return view.in_flight > view.threshold; }

Candidate figures(const ReplicaView& view) {
  return {view.replica, view.in_flight, -1, static_cast<double>(view.active_sessions)};
}

Decision at(const ReplicaView& view, Route route, const char* rule) {
  Decision decision;
  decision.replica = view.replica;
  decision.route = route;
  decision.rule = rule;
  decision.candidates.push_back(figures(view));
  return decision;
}

Decision place(std::span<const ReplicaView> pool, const StickyAsk& ask) {
  // The parent's head (system text and tools) is mostly the sub-agent's too, so its cache serves both.
  const ReplicaView* parent = find(pool, ask.parent_home);
  Decision decision = parent && parent->up && !over(*parent) ? at(*parent, Route::placed, "place: the parent's home")
                                                             : least(pool, ask.last);
  decision.becomes_home = true;
  return decision;
}

Decision replace_home(std::span<const ReplicaView> pool, const StickyAsk& ask) {
  Decision decision = least(pool, ask.last);
  decision.rule = "place: home is down";
  decision.becomes_home = true;
  return decision;
}

Decision elsewhere(std::span<const ReplicaView> pool, const StickyAsk& ask) {
  Decision decision = least(pool, ask.last, ask.home);
  decision.route = Route::spilled;
  decision.rule = "retry: home failed but is up, it stays home";
  return decision;
}

Decision stay_or_spill(std::span<const ReplicaView> pool, const ReplicaView& home, const StickyAsk& ask) {
  if (!over(home)) return at(home, Route::sticky, "stay: home is at or under its threshold");
  Decision decision = least(pool, ask.last, home.replica);
  const ReplicaView* target = find(pool, decision.replica);
  decision.candidates.insert(decision.candidates.begin(), figures(home));
  if (target && !over(*target)) {
    decision.route = Route::spilled;
    decision.rule = "spill: home is above its threshold";
    decision.becomes_home = ask.rehome;
  } else {
    decision.replica = home.replica;
    decision.route = Route::sticky;
    decision.rule = "stay: no other is at or under its threshold";
  }
  return decision;
}
}  // namespace

std::uint32_t auto_threshold(std::optional<std::uint32_t> max_concurrent, std::uint32_t assumed) {
  if (!max_concurrent) return assumed;
  return std::max(1u, *max_concurrent / 4 + (*max_concurrent % 4 != 0 ? 1u : 0u));
}

Decision sticky(std::span<const ReplicaView> pool, const StickyAsk& ask) {
  const ReplicaView* home = find(pool, ask.home);
  if (!home) return place(pool, ask);
  if (ask.home_failed) return elsewhere(pool, ask);
  return home->up ? stay_or_spill(pool, *home, ask) : replace_home(pool, ask);
}

}  // namespace wg::policy
