#include "console/warm_rows.h"

#include <nlohmann/json.hpp>

#include "dialect/api.h"

namespace wg::console {
namespace {

using gateway::Shared;
using nlohmann::json;

std::string text_of(const json& body) { return body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

// What is not known is null, not 0.
json known(double value) { return value > 0 ? json(value) : json(); }

json count_or_null(const std::optional<Tokens>& tokens) { return tokens ? json(tokens->count) : json(); }

json replica_row(const gateway::Directory& directory, const fleet::WarmReplicaState& its) {
  return {{"id", directory.replicas[its.index].id},
          {"seats", its.seats},
          {"seats_idle", its.seats_idle},
          {"seat_tokens", its.seat_tokens.count},
          {"kv_tokens", count_or_null(its.told)},
          {"kv_tokens_learnt", its.is_learnt},
          {"seat_capacity_tokens", count_or_null(its.capacity)},
          {"safety_net", {{"share", its.share}, {"steps_down", its.steps_down}}},
          {"keeps_prefixes", its.keeps_prefixes},
          {"shadow_tokens", its.shadow_tokens.count},
          {"shadow_copies", its.copies},
          {"unread", its.unread},
          {"backlog_s", its.backlog_s},
          {"break_even_s", known(its.break_even_s)},
          {"learnt",
           {{"prefill_tokens_per_s", its.prefill_tokens_per_s},
            {"attention_s", its.attention_s},
            {"base_s", its.base_s},
            {"samples", its.prefill_samples},
            {"hit_service_s", known(its.hit_service_s)},
            {"decode_s", known(its.decode_s)},
            {"output_tokens", its.output.count},
            {"growth_tokens", its.growth.count},
            {"hit_step_tokens", its.hit_step.count > 0 ? json(its.hit_step.count) : json()}}},
          {"hits", {{"expected", its.hits_expected}, {"missed", its.hits_missed}, {"emptied", its.emptied}}},
          {"cached_tokens_known", {{"by_answer", its.told_by_answer}, {"by_counters", its.told_by_counters}}}};
}

json pool_row(const Shared& shared, const gateway::Directory& directory, PoolIndex pool) {
  const fleet::WarmPoolState state = shared.brain.fleet().warm_pool(pool, shared.brain.fleet_now());
  json ratios = json::object();
  for (const auto& ratio : state.ratios)
    ratios[std::string(dialect::name_of(static_cast<dialect::Api>(ratio.dialect)))] = {{"value", ratio.tokens_per_byte},
                                                                                       {"samples", ratio.samples}};
  return {{"pool", directory.pools[pool].name}, {"policy", policy::name_of(shared.brain.fleet().pool(pool).policy)},
          {"waiting", state.waiting},           {"longest_wait_s", state.longest_wait_s},
          {"active_sessions", state.active},    {"working_set_tokens", state.working_set.count},
          {"kv_tokens", state.capacity.count},  {"sessions_fit", state.fit},
          {"tokens_per_byte", ratios},          {"advice", fleet::advice(state)}};
}

json candidate_row(const gateway::Directory& directory, const policy::Candidate& c) {
  json row = {{"replica", directory.replicas[c.replica].id}, {"in_flight", c.in_flight}};
  if (c.cost_s < 0) {
    if (c.kv_step >= 0) row["kv_step"] = c.kv_step;
    row["active_sessions"] = c.active_sessions;
    return row;
  }
  row["cost_s"] = c.cost_s;
  row["backlog_s"] = c.backlog_s;
  row["prefill_s"] = c.prefill_s;
  row["crowd_s"] = c.crowd_s;
  row["displaced_s"] = c.displaced_s;
  row["cached_tokens"] = c.cached.count;
  row["need_tokens"] = c.need.count;
  row["room_tokens"] = c.room.count;
  row["is_resident"] = c.is_resident;
  row["unread"] = c.unread;
  row["seat_capacity_tokens"] = c.capacity.count > 0 ? json(c.capacity.count) : json();
  row["may_take"] = c.may_take;
  if (!c.may_take) row["why_not"] = c.why_not;
  return row;
}

// What came of a decision: what the engine counted, and when its first token came. null: it is not known, or not yet.
json measured_row(const gateway::LoggedDecision& decision) {
  json row = {{"first_content_s", decision.first_content ? json(to_seconds(*decision.first_content)) : json()}};
  row["prompt_tokens"] = row["cached_tokens"] = row["output_tokens"] = nullptr;
  if (!decision.usage) return row;
  row["prompt_tokens"] = decision.usage->prompt.count;
  if (decision.usage->cached_measured) row["cached_tokens"] = decision.usage->cached.count;
  row["output_tokens"] = decision.usage->output.count;
  return row;
}

}  // namespace

std::string warm_body(const Shared& shared) {
  const auto directory = shared.brain.directory().get();
  json pools = json::array(), replicas = json::array();
  for (PoolIndex p = 0; p < directory->pools.size(); ++p)
    if (!directory->is_spare(p)) pools.push_back(pool_row(shared, *directory, p));
  for (const auto& its : shared.brain.fleet().warm_replicas(shared.brain.fleet_now()))
    replicas.push_back(replica_row(*directory, its));
  constexpr std::size_t most_heads = 50;
  json heads = json::array();
  for (const auto& its : shared.brain.fleet().heads(most_heads))
    heads.push_back({{"head", its.key.short_hex()}, {"tokens", its.size.count}, {"replicas", its.replicas}});
  return text_of({{"pools", pools},
                  {"replicas", replicas},
                  {"heads", {{"known", shared.brain.fleet().heads_known()}, {"latest", heads}}}});
}

std::string decisions_body(const Shared& shared, std::string_view session, std::size_t limit) {
  const auto directory = shared.brain.directory().get();
  const TimePoint now = shared.brain.fleet_now();
  json rows = json::array();
  const auto& all = shared.brain.decisions().all();
  for (auto it = all.rbegin(); it != all.rend() && rows.size() < limit; ++it) {
    const fleet::Note& note = it->note;
    const std::string its_session = note.session ? note.session.short_hex() : "-";
    if (!session.empty() && its_session != session) continue;
    json candidates = json::array();
    for (const auto& c : note.candidates) candidates.push_back(candidate_row(*directory, c));
    rows.push_back({{"ago_s", to_seconds(now - it->at)},
                    {"session", its_session},
                    {"replica", note.replica == no_replica ? json() : json(directory->replicas[note.replica].id)},
                    {"route", note.replica == no_replica ? json() : json(policy::name_of(note.route))},
                    {"rule", note.rule},
                    {"waited_s", to_seconds(note.waited)},
                    {"waited_because", *note.waited_for ? json(note.waited_for) : json()},
                    {"measured", measured_row(*it)},
                    {"candidates", candidates}});
  }
  return text_of({{"decisions", rows}});
}

}  // namespace wg::console
