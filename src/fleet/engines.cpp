// What is heard of engines: discovery, scrapes, probes; and of the rules by which a pool chooses among them.
#include "core/assert.h"
#include "fleet/state.h"

namespace wg::fleet {

namespace {
Note about_engine(Note::What what, EngineIndex engine, const char* rule) {
  return {.what = what,
          .request = 0,
          .engine = engine,
          .replica = no_replica,
          .route = policy::Route::placed,
          .rule = rule,
          .candidates = {}};
}
}  // namespace

bool Fleet::State::knows(EngineIndex engine) const {
  if (engine < replicas.engine_count()) return true;
  WG_BUG("an event names an engine that is not there");
  return false;
}

void Fleet::State::on(const EngineFound& event) {
  if (!knows(event.engine)) return;
  const bool is_new = replicas.found(event);
  for (const ReplicaIndex index : replicas.engine(event.engine).rank_rows) book.found(index, event);
  if (!is_new) return;
  // What comes back as something else has to show that it is well, as any other.
  replicas.engine(event.engine).health.unknown();
  issue(about_engine(Note::What::engine_changed, event.engine, "discovery: new replicas"));
  issue(ProbeEvery{event.engine, spec.probe_down});
}

void Fleet::State::on(const ReplicaSampled& event) {
  if (!knows(event.engine)) return;
  replicas.sampled(event);
  const Engine& engine = replicas.engine(event.engine);
  if (event.rank >= engine.rank_rows.size()) return;
  book.sampled(engine.rank_rows[event.rank], event, warm_rules(engine.pool));
}

void Fleet::State::on(const ProbeGood& event) {
  if (!knows(event.engine)) return;
  Engine& engine = replicas.engine(event.engine);
  if (!engine.found) return;
  const bool was_suspected = engine.health.suspected(now);
  if (engine.health.probe_good(now))
    health_changed(event.engine, "health: probe and scrape succeed");
  else if (was_suspected) {  // it was nothing: those that wait are sent there again
    ++waiting[engine.pool].fresh_starts;
    pump(engine.pool);
  }
}

void Fleet::State::on(const ProbeBad& event) {
  if (!knows(event.engine)) return;
  if (replicas.engine(event.engine).health.probe_bad(event.refused, now))
    health_changed(event.engine, event.refused ? "health: probe refused" : "health: three probes in a row failed");
}

void Fleet::State::health_changed(EngineIndex engine, const char* rule) {
  const bool up = replicas.engine(engine).health.up();
  issue(about_engine(up ? Note::What::engine_up : Note::What::engine_down, engine, rule));
  issue(ProbeEvery{engine, up ? spec.probe_up : spec.probe_down});
  if (!up)
    for (const ReplicaIndex index : replicas.engine(engine).rank_rows) book.unseat_idle(index);
  ++waiting[replicas.engine(engine).pool].fresh_starts;
  if (up) forgive(engine);
  pump(replicas.engine(engine).pool);
}

// A waiter may have been at this engine when it died. It is another one now, and perhaps the only one with room.
void Fleet::State::forgive(EngineIndex engine) {
  for (const auto& [key, id] : waiting[replicas.engine(engine).pool].queue)
    std::erase_if(requests.at(id).tried,
                  [&](ReplicaIndex index) { return replicas.row(index).state.engine == engine; });
}

void Fleet::State::met_broken(ReplicaIndex at, const char* rule) {
  const ReplicaState& row = replicas.row(at).state;
  if (row.retired) return;  // the old engine's end says nothing about the one that took its place
  if (replicas.engine(row.engine).health.broken()) health_changed(row.engine, rule);
}

void Fleet::State::met_reset(ReplicaIndex at) {
  const ReplicaState& row = replicas.row(at).state;
  if (row.retired) return;
  if (replicas.engine(row.engine).health.suspect(now)) issue(ProbeNow{row.engine});
}

void Fleet::State::met_dying(ReplicaIndex at, const char* rule) {
  const ReplicaState& row = replicas.row(at).state;
  if (row.retired) return;
  if (replicas.engine(row.engine).health.dying(now, spec.dying_for)) health_changed(row.engine, rule);
}

void Fleet::State::on(const PolicyChanged& event) {
  if (event.pool >= rules.size()) return WG_BUG("a policy is changed for a pool that is not there");
  rules[event.pool].policy = event.policy;
  rules[event.pool].threshold = event.spill_threshold;
  pump(event.pool);  // those that wait for a seat need none under another policy
  issue(about_engine(Note::What::policy_changed, 0, policy::name_of(event.policy).data()));
}

}  // namespace wg::fleet
