#include "console/api.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "console/metrics_page.h"
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

ApiAnswer sessions(Shared& shared, std::string_view query) {
  const std::size_t limit = limit_of(query, 1000, 10'000);
  const auto directory = shared.brain.directory().get();
  json rows = json::array();
  const auto id_of = [&](ReplicaIndex replica) {
    return replica == no_replica ? json() : json(directory->replicas[replica].id);
  };
  for (const auto& session : shared.brain.fleet().sessions(limit))
    rows.push_back({{"session", session.key.short_hex()},
                    {"parent", session.parent ? json(session.parent.short_hex()) : json()},
                    {"pool", directory->pools[session.pool].name},
                    {"home", id_of(session.home)},
                    {"turns", session.turns},
                    {"in_flight", session.in_flight},
                    {"idle_s", to_seconds(shared.brain.fleet_now() - session.last_end)},
                    {"context_tokens", session.context.count}});
  return ok(
      {{"sessions", rows}, {"known", shared.brain.fleet().sessions_known()}, {"limit", shared.config.sessions.limit}});
}

json policy_body(const fleet::PoolState& state) {
  return {{"policy", policy::name_of(state.policy)},
          {"spill_threshold", state.configured_threshold ? json(*state.configured_threshold) : json("auto")},
          {"threshold_in_force", state.threshold},
          {"threshold_assumed", state.threshold_assumed}};
}

// What a PUT asks for; fields that are left out stay as they are.
Result<fleet::PolicyChanged> wanted_policy(PoolIndex pool, const fleet::PoolState& now, std::string_view text) {
  const json body = json::parse(text, nullptr, false);
  if (!body.is_object())
    return fail(Fault::client,
                "the body is no JSON object; expected {\"policy\":\"sticky\",\"spill_threshold\":\"auto\"}", 400);
  fleet::PolicyChanged event{pool, now.policy, now.configured_threshold};
  for (const auto& [key, value] : body.items()) {
    if (key == "policy") {
      const auto named = value.is_string() ? policy::policy_named(value.get<std::string>()) : std::nullopt;
      if (!named)
        return fail(Fault::client,
                    "policy: " + value.dump() + " is none; allowed: " + std::string(policy::policy_names), 400);
      event.policy = *named;
    } else if (key == "spill_threshold") {
      const bool is_number = value.is_number_unsigned() && value.get<std::uint64_t>() <= 100'000;
      if (!is_number && value != "auto")
        return fail(Fault::client, "spill_threshold: " + value.dump() + " is not possible; allowed: auto, 0..100000",
                    400);
      event.spill_threshold = is_number ? std::optional(value.get<std::uint32_t>()) : std::nullopt;
    } else {
      return fail(Fault::client, "unknown key \"" + key + "\"; allowed: policy, spill_threshold", 400);
    }
  }
  return event;
}

ApiAnswer pool_policy(Shared& shared, std::string_view method, std::string_view name, std::string_view body) {
  const auto directory = shared.brain.directory().get();
  std::string known;
  for (PoolIndex p = 0; p < directory->pools.size(); ++p) {
    if (directory->pools[p].name.empty()) continue;
    known += (known.empty() ? "" : ", ") + directory->pools[p].name;
    if (directory->pools[p].name != name) continue;
    if (method == "PUT") {
      const auto event = wanted_policy(p, shared.brain.fleet().pool(p), body);
      if (!event) return wrong(event.error().status, event.error().what);
      shared.brain.tell(*event);
    } else if (method != "GET") {
      return wrong(405, "allowed: GET, PUT");
    }
    return ok(policy_body(shared.brain.fleet().pool(p)));
  }
  return wrong(404, "there is no pool \"" + std::string(name) + "\"; there are: " + known);
}

// %XX in a pool's name ("Qwen%2FQwen3-4B").
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

ApiAnswer answer(Shared& shared, std::string_view method, std::string_view target, std::string_view body) {
  const std::string_view path = target.substr(0, target.find('?'));
  const std::string_view query = path.size() < target.size() ? target.substr(path.size() + 1) : std::string_view();
  constexpr std::string_view pools = "/api/v1/pools/", policy = "/policy";
  if (path.starts_with(pools) && path.ends_with(policy) && path.size() > pools.size() + policy.size())
    return pool_policy(shared, method,
                       percent_decoded(path.substr(pools.size(), path.size() - pools.size() - policy.size())), body);
  const bool reads = method == "GET" || method == "HEAD";
  if (path == "/metrics")
    return reads ? ApiAnswer{200, "text/plain; version=0.0.4; charset=utf-8", metrics_page(shared)}
                 : wrong(405, "allowed: GET");
  if (path == "/api/v1/replicas") return reads ? replicas(shared) : wrong(405, "allowed: GET");
  if (path == "/api/v1/sessions") return reads ? sessions(shared, query) : wrong(405, "allowed: GET");
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
