#include "console/api.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "console/metrics_page.h"
#include "console/pool_policy.h"
#include "console/session_rows.h"
#include "console/shown_replicas.h"
#include "console/warm_rows.h"

namespace wg::console {
namespace {

using gateway::Shared;
using nlohmann::json;

ApiAnswer ok(const json& body) {
  return {200, "application/json", body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"};
}
ApiAnswer wrong(int status, const std::string& message) {
  ApiAnswer answer = ok({{"error", {{"message", message}, {"code", status}}}});
  answer.status = status;
  return answer;
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json turns_of(const fleet::ReplicaState::Turns& turns) {
  return {{"placed", turns.placed}, {"sticky", turns.sticky}, {"spilled", turns.spilled},
          {"moved", turns.moved},   {"off", turns.off},       {"unsteered", turns.unsteered}};
}

bool configured_kv_tokens(const Shared& shared, EngineIndex index) {
  for (const auto& pool : shared.config.pools)
    for (const auto& engine : pool.engines)
      if (index-- == 0) return engine.kv_tokens.has_value();
  return false;
}

json replica_row(const Shared& shared, const gateway::Directory& directory, const fleet::ReplicaState& replica) {
  const gateway::EngineEntry& engine = directory.engines[replica.engine];
  const gateway::EngineInfo& info = shared.brain.engines()[replica.engine];
  json row = {{"pool", directory.pools[replica.pool].name},
              {"id", directory.replicas[replica.index].id},
              {"url", engine.url.text()},
              {"rank", or_null(replica.rank)},
              {"healthy", replica.up},
              {"in_flight", replica.in_flight},
              {"queued", 0},
              {"requests", replica.requests},
              {"turns", turns_of(replica.turns)},
              {"active_sessions", replica.active_sessions},
              {"running", replica.running},
              {"waiting", replica.waiting},
              {"kv_usage", or_null(replica.kv_usage)},
              {"kv_tokens", replica.kv_capacity ? json(replica.kv_capacity->count) : json()},
              {"kv_tokens_assumed", info.kv_capacity_assumed},
              {"prompt_tokens",
               {{"cached", replica.prompt_cached},
                {"computed", replica.prompt_computed},
                {"unmeasured", replica.prompt_unmeasured}}},
              {"output_tokens", replica.output_tokens},
              {"retired", replica.retired}};
  row["prefix_queries"] = row["prefix_hits"] = nullptr;
  for (const probe::RankSample& sample : info.ranks)
    if (replica.rank == sample.rank) {
      if (sample.kv_capacity && !configured_kv_tokens(shared, replica.engine))
        row["kv_tokens"] = sample.kv_capacity->count;
      row["prefix_queries"] = sample.prefix_queries;
      row["prefix_hits"] = sample.prefix_hits;
    }
  return row;
}

// An engine that has not answered yet: what it is made of is not known, but it must not be missing from the list.
json unknown_row(const gateway::Directory& directory, EngineIndex index) {
  const gateway::EngineEntry& engine = directory.engines[index];
  const std::string& pool = directory.pools[engine.pool].name;
  fleet::ReplicaState::Turns none;
  return {{"pool", pool},
          {"id", pool + "/" + engine.name + "/any"},
          {"url", engine.url.text()},
          {"rank", nullptr},
          {"healthy", false},
          {"in_flight", 0},
          {"queued", 0},
          {"requests", 0},
          {"turns", turns_of(none)},
          {"active_sessions", 0},
          {"running", 0},
          {"waiting", 0},
          {"kv_usage", nullptr},
          {"kv_tokens", nullptr},
          {"kv_tokens_assumed", false},
          {"prompt_tokens", {{"cached", 0}, {"computed", 0}, {"unmeasured", 0}}},
          {"output_tokens", 0},
          {"retired", false},
          {"prefix_queries", nullptr},
          {"prefix_hits", nullptr}};
}

json engine_row(const Shared& shared, const gateway::Directory& directory, EngineIndex index) {
  const gateway::EngineInfo& info = shared.brain.engines()[index];
  const gateway::EngineEntry& engine = directory.engines[index];
  return {{"name", engine.name},      {"pool", directory.pools[engine.pool].name},
          {"url", engine.url.text()}, {"kind", probe::name_of(info.kind)},
          {"model", info.model},      {"up", shared.brain.fleet().engine_up(index)},
          {"warnings", info.warnings}};
}

ApiAnswer replicas(Shared& shared) {
  const auto directory = shared.brain.directory().get();
  json rows = json::array(), engines = json::array();
  for (const auto& replica : shown_replicas(shared)) rows.push_back(replica_row(shared, *directory, replica));
  for (EngineIndex e = 0; e < directory->engines.size(); ++e) {
    engines.push_back(engine_row(shared, *directory, e));
    if (!shared.brain.engines()[e].found) rows.push_back(unknown_row(*directory, e));
  }
  return ok({{"replicas", rows}, {"engines", engines}, {"unsteered_requests", shared.brain.unsteered_total()}});
}

// What stands behind "name=" in a query; empty: nothing does.
std::string_view value_of(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    if (part.starts_with(name)) return part.substr(name.size());
    query.remove_prefix(std::min(part.size() + 1, query.size()));
  }
  return {};
}
std::size_t limit_of(std::string_view query, std::size_t usual, std::size_t most) {
  const std::string_view text = value_of(query, "limit=");
  std::size_t limit = usual;
  std::from_chars(text.data(), text.data() + text.size(), limit);
  return std::min(limit, most);
}

ApiAnswer policy_answer(const Result<std::string>& said) {
  return said ? ApiAnswer{200, "application/json", *said} : wrong(said.error().status, said.error().what);
}

}  // namespace

ApiAnswer answer(Shared& shared, std::string_view method, std::string_view target, std::string_view body) {
  const std::string_view path = target.substr(0, target.find('?'));
  const std::string_view query = path.size() < target.size() ? target.substr(path.size() + 1) : std::string_view();
  constexpr std::string_view pools = "/api/v1/pools/", policy = "/policy";
  if (path.starts_with(pools) && path.ends_with(policy) && path.size() > pools.size() + policy.size())
    return policy_answer(
        pool_policy(shared, method, path.substr(pools.size(), path.size() - pools.size() - policy.size()), body));
  const bool reads = method == "GET" || method == "HEAD";
  if (path == "/metrics")
    return reads ? ApiAnswer{200, "text/plain; version=0.0.4; charset=utf-8", metrics_page(shared)}
                 : wrong(405, "allowed: GET");
  if (path == "/api/v1/replicas") return reads ? replicas(shared) : wrong(405, "allowed: GET");
  if (path == "/api/v1/sessions")
    return reads ? ApiAnswer{200, "application/json",
                             sessions_body(shared, value_of(query, "session="), limit_of(query, 1000, 10'000))}
                 : wrong(405, "allowed: GET");
  if (path == "/api/v1/warm")
    return reads ? ApiAnswer{200, "application/json", warm_body(shared)} : wrong(405, "allowed: GET");
  if (path == "/api/v1/decisions")
    return reads ? ApiAnswer{200, "application/json",
                             decisions_body(shared, value_of(query, "session="), limit_of(query, 100, 4096))}
                 : wrong(405, "allowed: GET");
  if (path == "/health") return ok({{"status", "ok"}});
  return wrong(404,
               "there are: /metrics, /api/v1/replicas, /api/v1/sessions, /api/v1/warm, /api/v1/decisions, "
               "/api/v1/pools/NAME/policy");
}

}  // namespace wg::console
