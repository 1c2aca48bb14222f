#include "console/session_rows.h"

#include <nlohmann/json.hpp>

namespace wg::console {
namespace {

using gateway::Shared;
using nlohmann::json;

const char* name_of(fleet::RequestClass kind) {
  switch (kind) {
    case fleet::RequestClass::sub_agent:
      return "sub-agent";
    case fleet::RequestClass::background:
      return "background";
    case fleet::RequestClass::turn:
    case fleet::RequestClass::untracked:
      break;
  }
  return "conversation";
}

json id_or_null(const gateway::Directory& directory, ReplicaIndex replica) {
  return replica == no_replica ? json() : json(directory.replicas[replica].id);
}

json lineage_row(const gateway::Directory& directory, const fleet::LineageState& its) {
  const bool is_away = its.in_flight == 0 && its.turns > 0;
  return {{"lineage", its.key.short_hex()},
          {"class", name_of(its.kind)},
          {"home", id_or_null(directory, its.home)},
          {"turns", its.turns},
          {"in_flight", its.in_flight},
          {"context_tokens", its.context.count},
          {"expected_cached_tokens", its.cached.count},
          {"away_s", is_away ? json(its.away_s) : json()},
          {"waits_for", fleet::name_of(its.waits_for)},
          {"expected_pause_s", its.expected_pause_s},
          {"break_even_s", its.break_even_s > 0 ? json(its.break_even_s) : json()},
          {"has_seat", its.has_seat},
          {"seat_held_s", its.seat_held_s}};
}

json session_row(const Shared& shared, const gateway::Directory& directory, const fleet::SessionState& session) {
  return {{"session", session.key.short_hex()},
          {"parent", session.parent ? json(session.parent.short_hex()) : json()},
          {"class", name_of(session.kind)},
          {"pool", directory.pools[session.pool].name},
          {"home", id_or_null(directory, session.home)},
          {"turns", session.turns},
          {"in_flight", session.in_flight},
          {"sub_agents_in_flight", session.sub_agents},
          {"idle_s", to_seconds(shared.brain.fleet_now() - session.last_end)},
          {"context_tokens", session.context.count}};
}

}  // namespace

std::string sessions_body(const Shared& shared, std::string_view session, std::size_t limit) {
  const auto directory = shared.brain.directory().get();
  const fleet::Fleet& fleet = shared.brain.fleet();
  json rows = json::array();
  for (const auto& its : fleet.sessions(session.empty() ? limit : fleet.sessions_known())) {
    if (!session.empty() && its.key.short_hex() != session) continue;
    json row = session_row(shared, *directory, its);
    if (!session.empty()) {
      json& lineages = row["lineages"] = json::array();
      for (const auto& lineage : fleet.lineages(its.key, shared.brain.fleet_now()))
        lineages.push_back(lineage_row(*directory, lineage));
    }
    rows.push_back(std::move(row));
  }
  const json body = {{"sessions", rows}, {"known", fleet.sessions_known()}, {"limit", shared.config.sessions.limit}};
  return body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace wg::console
