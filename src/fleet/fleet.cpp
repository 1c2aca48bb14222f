#include "fleet/fleet.h"

#include <algorithm>

#include "fleet/digest.h"
#include "fleet/state.h"

namespace wg::fleet {

namespace {
std::vector<PoolRule> rules_of(const Spec& spec) {
  std::vector<PoolRule> rules;
  for (const PoolSpec& pool : spec.pools) {
    PoolRule& rule = rules.emplace_back();
    rule.policy = pool.policy;
    rule.threshold = pool.spill_threshold;
    rule.rehome = pool.spill_rehome;
    rule.warm = pool.warm;
  }
  return rules;
}
}  // namespace

Fleet::State::State(const Spec& from)
    : spec(from),
      rules(rules_of(from)),
      replicas(from),
      book(from.session_limit),
      waiting(from.pools.size()),
      sessions(from.session_limit, from.active_for),
      makers(from.session_limit) {}

WarmRules Fleet::State::warm_rules(PoolIndex pool) const {
  WarmRules in_force = rules[pool].warm;
  in_force.holds_seats = rules[pool].policy == policy::PolicyName::warm;
  return in_force;
}

void Fleet::State::issue(Command command) {
  digest = mixed(digest, command);
  commands.push_back(std::move(command));
}

Request* Fleet::State::request(RequestId id) {
  const auto found = requests.find(id);
  return found == requests.end() ? nullptr : &found->second;
}

Fleet::Fleet(const Spec& spec) : state_(std::make_unique<State>(spec)) {}
Fleet::~Fleet() = default;

Commands Fleet::step(const Event& event, TimePoint now) {
  State& state = *state_;
  state.now = std::max(state.now, now);
  state.sessions.expire(state.now);
  state.commands.clear();
  std::visit([&](const auto& happened) { state.on(happened); }, event);
  return std::move(state.commands);
}

std::vector<ReplicaState> Fleet::replicas(TimePoint now) const {
  const std::vector<std::uint32_t> active = state_->sessions.active_by_replica(std::max(state_->now, now));
  std::vector<ReplicaState> states;
  for (const Row& row : state_->replicas.rows()) {
    ReplicaState& state = states.emplace_back(row.state);
    state.up = state_->replicas.up(row);
    state.active_sessions = state.index < active.size() ? active[state.index] : 0;
  }
  return states;
}

std::vector<SessionState> Fleet::sessions(std::size_t limit) const {
  std::vector<SessionState> states = state_->sessions.latest(limit);
  for (SessionState& session : states) {
    if (session.home != no_replica && state_->replicas.row(session.home).state.retired) session.home = no_replica;
    session.sub_agents = state_->children.of(session.key);
  }
  return states;
}

PoolState Fleet::pool(PoolIndex pool) const {
  const PoolRule& rule = state_->rules.at(pool);
  PoolState state{.policy = rule.policy,
                  .configured_threshold = rule.threshold,
                  .threshold = 0,
                  .threshold_assumed = false,
                  .replicas_up = 0};
  std::optional<std::uint32_t> lowest;
  bool all_told = true;
  for (const EngineIndex index : state_->replicas.engines_of(pool)) {
    const Engine& engine = state_->replicas.engine(index);
    if (!engine.found) continue;
    if (engine.health.up()) state.replicas_up += engine.ranks;
    all_told = all_told && engine.max_concurrent.has_value();
    lowest = std::min(lowest.value_or(~0u), state_->replicas.threshold_of(engine));
  }
  state.threshold = rule.threshold.value_or(lowest.value_or(state_->spec.assumed_threshold));
  state.threshold_assumed = !rule.threshold && (!lowest || !all_told);
  return state;
}

bool Fleet::engine_up(EngineIndex engine) const {
  return engine < state_->replicas.engine_count() && state_->replicas.engine(engine).health.up();
}
std::size_t Fleet::requests_known() const { return state_->requests.size(); }
std::size_t Fleet::sessions_known() const { return state_->sessions.size(); }
std::size_t Fleet::parents_waiting() const { return state_->children.parents(); }
std::size_t Fleet::waiting(PoolIndex pool) const { return state_->waiting.at(pool).queue.size(); }
std::uint64_t Fleet::digest() const { return state_->digest; }

}  // namespace wg::fleet
