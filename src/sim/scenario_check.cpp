// What a scenario expects, against what came.
#include "sim/scenario_expect.h"
#include "sim/scenario_runner.h"

namespace wg::sim {

// Whether the client got an engine's answer, or the head of it, and so knows where it came from.
bool has_head(const Answer& answer) {
  return answer.attempts > 0 && answer.status != 0 && answer.replica != no_replica &&
         answer.outcome != fleet::Outcome::failed && answer.outcome != fleet::Outcome::refused_by_us;
}

std::string Runner::replica_meant(const std::string& value) {
  const std::size_t dot = value.find('.');
  if (dot == value.npos) return value;
  const ScenarioTalker& talker = talker_named(value.substr(0, dot));
  const std::string what = value.substr(dot + 1);
  if (what == "home") return talker.home;
  if (what == "home.before") return talker.home_before;
  return what == "last" ? talker.last : talker.last_before;
}

static std::string outcome_of(const Answer& answer) {
  switch (answer.outcome) {
    case fleet::Outcome::client_gone:
      return "left";
    case fleet::Outcome::died_mid_stream:
    case fleet::Outcome::engine_aborted:
      return "broken";
    case fleet::Outcome::failed:
    case fleet::Outcome::refused_by_us:
      return "refused";
    case fleet::Outcome::ok:
      break;
  }
  if (answer.status != 200) return "refused";
  return answer.finish == FinishReason::none ? "broken" : "ok";
}

void Runner::check_answer(const Step& step, const ScenarioTalker& talker, const Answer& answer) {
  const bool head = has_head(answer);
  const std::string route(head ? policy::name_of(answer.route) : "none");
  const std::string replica = head ? world_.name_of(answer.replica) : "-";
  const std::string outcome = outcome_of(answer);
  std::string said = talker.spec.name + " " + outcome + " " + std::to_string(answer.status) + " " + route + " " +
                     replica + " cached " + std::to_string(answer.cached.count) + "/" +
                     std::to_string(answer.prompt.count) + " (" + answer.rule + ", attempts " +
                     std::to_string(answer.attempts) + ")";
  result_.log.push_back(std::to_string(to_seconds(world_.now().time_since_epoch())) + " line " +
                        std::to_string(step.line) + " " + said);
  const double ttfb = answer.first_content ? to_seconds(*answer.first_content - answer.arrived) : 1e9;
  const double waited = to_seconds(answer.dispatched.value_or(answer.ended) - answer.arrived);
  for (const Expectation& expected : step.expects) {
    bool fine = false;
    const std::string& name = expected.name;
    if (name == "route") fine = holds(expected, route);
    if (name == "outcome") fine = holds(expected, outcome);
    if (name == "replica") fine = (replica == replica_meant(expected.value)) == (expected.compare == Compare::equal);
    if (name == "status") fine = holds(expected, answer.status);
    if (name == "prompt") fine = holds(expected, static_cast<double>(answer.prompt.count));
    if (name == "cached") fine = holds(expected, static_cast<double>(answer.cached.count));
    if (name == "output") fine = holds(expected, static_cast<double>(answer.output.count));
    if (name == "ttfb") fine = holds(expected, ttfb);
    if (name == "waited") fine = holds(expected, waited);
    if (name == "attempts") fine = holds(expected, answer.attempts);
    if (!fine) failed(step.line, "expected " + text_of(expected) + ", came: " + said);
  }
}

double Runner::figure(const std::string& name) const {
  double in_flight = 0, busiest = 0, quietest = 1e9, up = 0, running = 0;
  fleet::ReplicaState::Turns turns;
  for (const fleet::ReplicaState& row : world_.fleet().replicas(world_.now())) {
    in_flight += row.in_flight;
    turns.placed += row.turns.placed, turns.sticky += row.turns.sticky, turns.spilled += row.turns.spilled;
    turns.off += row.turns.off, turns.unsteered += row.turns.unsteered, turns.moved += row.turns.moved;
    if (row.retired || !row.rank) continue;
    up += row.up ? 1 : 0;
    busiest = std::max<double>(busiest, row.in_flight);
    quietest = std::min<double>(quietest, row.in_flight);
  }
  for (EngineIndex e = 0; e < scenario_.fleet.engines; ++e)
    for (std::uint32_t rank = 0; rank < scenario_.fleet.ranks; ++rank)
      running += static_cast<double>(world_.engine(e, rank).running() + world_.engine(e, rank).waiting());
  double seats = 0, missed = 0;
  for (const fleet::WarmReplicaState& row : world_.fleet().warm_replicas(world_.now())) {
    seats += row.seats;
    missed += static_cast<double>(row.hits_missed);
  }
  if (name == "waiting") return static_cast<double>(world_.fleet().warm_pool(0, world_.now()).waiting);
  if (name == "seats") return seats;
  if (name == "hits.missed") return missed;
  if (name == "in_flight") return in_flight;
  if (name == "engines_idle" || name == "running") return running;
  if (name == "up") return up;
  if (name == "busiest") return busiest;
  if (name == "quietest") return quietest;
  if (name == "sessions") return static_cast<double>(world_.fleet().sessions_known());
  if (name == "turns.placed") return static_cast<double>(turns.placed);
  if (name == "turns.sticky") return static_cast<double>(turns.sticky);
  if (name == "turns.spilled") return static_cast<double>(turns.spilled);
  if (name == "turns.moved") return static_cast<double>(turns.moved);
  if (name == "turns.off") return static_cast<double>(turns.off);
  return static_cast<double>(turns.unsteered);
}

// The first that does not hold, and what came; empty: all hold.
std::string Runner::broken_expectation(const std::vector<Expectation>& expects) const {
  for (const Expectation& expected : expects) {
    const double came = figure(expected.name);
    const bool fine =
        expected.name == "engines_idle" ? (came == 0) == (expected.compare == Compare::equal) : holds(expected, came);
    if (!fine) return "expected " + text_of(expected) + ", came: " + std::to_string(came);
  }
  return "";
}

}  // namespace wg::sim
