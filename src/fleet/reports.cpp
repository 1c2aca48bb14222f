// What is heard of a request under way, and its end.
#include <algorithm>

#include "core/assert.h"
#include "fleet/state.h"

namespace wg::fleet {

void Fleet::State::on(const FirstContent& event) {
  Request* const known = request(event.request);
  if (!known) return;
  known->saw_content = true;
  if (known->reading.at == no_replica) return;
  book.prefilled(event.request, known->reading, now);
  pump(known->asked.pool);
}

void Fleet::State::on(const UsageReported& event) {
  Request* known = request(event.request);
  if (!known || known->replica == no_replica) return;
  const Tokens zero{};
  const Tokens prompt =
      std::max(zero, event.measured || event.prompt > zero ? event.prompt : known->asked.prompt_estimate);
  const bool cached_known = event.measured && event.cached_measured;
  Request::Counted usage{.at = known->replica, .cached = {}, .computed = {}, .unmeasured = {}, .output = {}};
  usage.cached = cached_known ? std::clamp(event.cached, zero, prompt) : zero;
  usage.computed = prompt - usage.cached;
  usage.unmeasured = cached_known ? zero : prompt;
  usage.output = std::max(zero, event.output);
  count(*known, usage);
  if (known->reading.at != no_replica) book.reported(known->reading, event);

  // A title call is short and of another lineage: it says nothing about how long the conversation is.
  if (known->asked.kind == RequestClass::background || !known->session_serial) return;
  if (Session* session = sessions.peek(known->asked.session, known->session_serial))
    session->state.context = prompt + usage.output;
}

void Fleet::State::count(Request& request, const Request::Counted& usage) {
  // A later report of the same request replaces the earlier one.
  const auto add = [](std::uint64_t& sum, Tokens more) { sum += static_cast<std::uint64_t>(more.count); };
  const auto take = [](std::uint64_t& sum, Tokens less) { sum -= static_cast<std::uint64_t>(less.count); };
  if (request.counted.at != no_replica) {
    ReplicaState& before = replicas.row(request.counted.at).state;
    take(before.prompt_cached, request.counted.cached);
    take(before.prompt_computed, request.counted.computed);
    take(before.prompt_unmeasured, request.counted.unmeasured);
    take(before.output_tokens, request.counted.output);
  }
  ReplicaState& row = replicas.row(usage.at).state;
  add(row.prompt_cached, usage.cached);
  add(row.prompt_computed, usage.computed);
  add(row.prompt_unmeasured, usage.unmeasured);
  add(row.output_tokens, usage.output);
  request.counted = usage;
}

void Fleet::State::on(const ResponseMade& event) {
  const Request* known = request(event.request);
  if (known && known->replica != no_replica && event.response) makers.put(event.response, known->replica);
}

void Fleet::State::on(const Finished& event) {
  Request* known = request(event.request);
  if (!known) return WG_BUG("a request ended that is not known, or for the second time");
  // The prompt was read, though nobody measured it (the client left, or the engine does not tell).
  if (known->saw_content && known->counted.at == no_replica && known->replica != no_replica) {
    const Tokens prompt = std::max(Tokens{}, known->asked.prompt_estimate);
    count(*known, {.at = known->replica, .cached = {}, .computed = prompt, .unmeasured = prompt, .output = {}});
  }
  const ReplicaIndex at = known->replica;
  const PoolIndex pool = known->asked.pool;
  leave_queue(*known);
  if (at != no_replica) let_go(*known, event.outcome == Outcome::ok || event.outcome == Outcome::client_gone);
  if (known->session_serial)
    if (Session* session = sessions.peek(known->asked.session, known->session_serial)) sessions.end_turn(*session, now);
  if (is_child(known->asked)) children.ended(known->asked.parent);
  const SessionKey over = known->asked.ends_session ? known->asked.session : SessionKey{};
  requests.erase(event.request);
  if (over) forget_session(over);

  if (at == no_replica) return;
  // Health first: who waits is not to be sent to where this one has just died.
  if (event.outcome == Outcome::died_mid_stream) met_broken(at, "health: reset in mid-stream");
  if (event.outcome == Outcome::engine_aborted) met_dying(at, "health: an abort that nobody asked for");
  pump(pool);
}

void Fleet::State::let_go(Request& request, bool came_to_its_end) {
  replicas.released(request.replica);
  if (request.reading.at == no_replica) return;
  const ReplicaIndex at = request.reading.at;
  const WarmReplica& its = book.replica(at);
  const bool kept = its.keeps_prefixes();
  const std::uint64_t steps = its.size.net().steps_down();
  request.reading.wait.for_children =
      request.asked.kind != RequestClass::background && children.of(request.asked.session) > 0;
  book.ended(request.asked.request, request.reading, now, came_to_its_end, warm_rules(request.asked.pool));
  if (kept && !its.keeps_prefixes())
    doubt_cache(at, "nothing is ever found in its cache: no seats are held there, turns go by load");
  if (its.size.net().steps_down() > steps)
    doubt_cache(at, "residents find less than they should, or are preempted: seats use less of its cache");
}

void Fleet::State::doubt_cache(ReplicaIndex at, const char* why) {
  issue(Note{.what = Note::What::cache_doubted,
             .request = 0,
             .engine = replicas.row(at).state.engine,
             .replica = at,
             .route = policy::Route::placed,
             .rule = why,
             .candidates = {}});
}

void Fleet::State::on(const SessionReleased& event) {
  forget_session(event.session);
  pump(event.pool);
}

// Nothing of it will come again: its seats are free. What the caches have of it is thrown out when others need room.
void Fleet::State::forget_session(const SessionKey& key) {
  if (const Session* const session = sessions.peek(key))
    for (const SessionKey& lineage : session->lineages)
      if (lineage) book.forget(lineage);
  sessions.close(key);
}

}  // namespace wg::fleet
