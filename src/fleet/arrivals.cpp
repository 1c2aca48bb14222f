// A request arrives: where does it go?
#include <algorithm>

#include "core/assert.h"
#include "fleet/state.h"

namespace wg::fleet {

void Fleet::State::on(const RequestArrived& event) {
  const auto [position, is_new] = requests.try_emplace(event.request);
  if (!is_new) return WG_BUG("a request arrived twice");
  Request& request = position->second;
  request.asked = event;
  request.arrived = now;
  if (is_child(event)) child_came(event);
  if (event.pool >= rules.size()) {
    WG_BUG("a request names a pool that is not there");
    return reject(request, {event.request, 503, 1, "this model is not served here", false}, "no such pool");
  }

  if (event.pinned_to_response) {
    const ReplicaIndex* maker = makers.touch(event.pinned_to_response);
    if (maker && !replicas.row(*maker).state.retired) return arrive_pinned(request, *maker);
  }
  if (!event.must_be_pinned) return arrive_free(request);

  if (replicas.engine_count() != 1)
    return reject(request,
                  {event.request, 404, 1, "this response is not known here: it is too old, or was never made", false},
                  "pinned: maker unknown");
  const Engine& only = replicas.engine(0);
  if (!only.found) return reject_none_up(request);
  arrive_pinned(request, only.whole());
}

void Fleet::State::arrive_pinned(Request& request, ReplicaIndex maker) {
  const PoolIndex pool = replicas.row(maker).state.pool;
  const bool steered = request.asked.steerable_path && rules[pool].policy != policy::PolicyName::off;
  const ReplicaIndex seen = replicas.as_seen(maker, steered);
  policy::Decision decision;
  decision.replica = seen != no_replica ? seen : maker;
  decision.route = policy::Route::sticky;
  decision.rule = "pinned: where the response was made";
  if (!replicas.up(replicas.row(decision.replica)))
    return reject(request, {request.asked.request, 503, 1, "the replica that made this response is down", false},
                  "pinned: its replica is down");
  request.pinned = true;
  const Session* session = session_of(request);
  decision.becomes_home =
      !session || session->state.home == no_replica || !replicas.up(replicas.row(session->state.home));
  dispatch(request, std::move(decision));
}

// Those of its parent's conversations that are away wait for it now.
void Fleet::State::child_came(const RequestArrived& child) {
  children.arrived(child.parent);
  const Session* const parent = sessions.peek(child.parent);
  if (!parent || child.pool >= rules.size()) return;
  for (const SessionKey& lineage : parent->lineages)
    if (lineage) book.child_came(lineage, warm_rules(parent->state.pool));
}

void Fleet::State::read_arrival(Request& request) {
  const RequestArrived& asked = request.asked;
  const Session* const parent = asked.parent ? sessions.peek(asked.parent) : nullptr;
  book.arrived(request.reading, asked, parent ? parent->lineages : std::span<const SessionKey>(), now);
}

void Fleet::State::arrive_free(Request& request) {
  const bool can_be_sent_to_a_rank = request.asked.steerable_path || replicas.all_by_url(request.asked.pool);
  if (has_session(request.asked) && can_be_sent_to_a_rank) read_arrival(request);
  if (takes_a_seat(request)) return arrive_warm(request);
  policy::Decision decision = decide(request, session_of(request));
  if (decision.replica == no_replica) return reject_none_up(request);
  dispatch(request, std::move(decision));
}

Session* Fleet::State::session_of(const Request& request) {
  if (!has_session(request.asked)) return nullptr;
  Session* session = sessions.use(request.asked.session);
  if (session && session->state.home != no_replica && replicas.row(session->state.home).state.retired) {
    const ReplicaIndex old = session->state.home;
    sessions.set_home(*session, no_replica);
    issue(Note{.what = Note::What::home_dropped,
               .request = request.asked.request,
               .engine = replicas.row(old).state.engine,
               .replica = old,
               .route = policy::Route::placed,
               .rule = "home: its engine came back as something else",
               .candidates = {}});
  }
  return session;
}

policy::Decision Fleet::State::decide(const Request& request, const Session* session) {
  const RequestArrived& asked = request.asked;
  PoolRule& rule = rules[asked.pool];
  const bool off = rule.policy == policy::PolicyName::off, steered = asked.steerable_path && !off;
  replicas.views({asked.pool, steered, off, rule.threshold}, sessions, views);

  PlacementAsk ask;
  if (has_session(asked)) {
    ask.session = asked.session;
    if (session) ask.home = replicas.as_seen(session->state.home, steered);
    ask.has_home = session && session->state.home != no_replica;
    const Session* parent = asked.parent ? sessions.peek(asked.parent) : nullptr;
    if (parent) ask.parent_home = replicas.as_seen(parent->state.home, steered);
  }
  if (!request.tried.empty()) {
    // Asked before those tried are taken out: a busy home is not down.
    const bool home_is_up = ask.home != no_replica && replicas.up(replicas.row(ask.home));
    policy::leave_out_tried(views, request.tried);
    const policy::ReplicaView* home = policy::find(views, ask.home);
    ask.home_failed = home_is_up && home && !home->up;
  }
  return place(rule, views, ask);
}

void Fleet::State::dispatch(Request& request, policy::Decision decision) {
  const RequestArrived& asked = request.asked;
  const Row& row = replicas.row(decision.replica);
  policy::Route route = decision.route;
  if (!row.state.rank)
    route = rules[row.state.pool].policy == policy::PolicyName::off ? policy::Route::off : policy::Route::unsteered;

  if (has_session(asked)) {
    Session* session =
        request.session_serial ? sessions.peek(asked.session, request.session_serial) : sessions.use(asked.session);
    if (!session && !request.session_serial) session = &sessions.open(asked);
    if (session) {
      if (decision.becomes_home) sessions.set_home(*session, decision.replica);
      if (!request.session_serial) sessions.begin_turn(*session);
      request.session_serial = session->serial;
      session->remember(request.reading.lineage);
    }
  }
  request.replica = decision.replica;
  request.route = route;
  if (row.state.rank && request.reading.lineage) book.sent(asked.request, request.reading, decision.replica, now);
  replicas.dispatched(decision.replica, route);
  issue(Dispatch{asked.request, decision.replica, route, false});
  issue(Note{.what = Note::What::decision,
             .request = asked.request,
             .engine = row.state.engine,
             .replica = decision.replica,
             .route = route,
             .rule = decision.rule,
             .candidates = std::move(decision.candidates),
             .session = asked.session,
             .waited = now - request.arrived,
             .waited_for = now > request.arrived ? request.why_queued : ""});
}

void Fleet::State::reject(Request& request, Reject answer, const char* rule) {
  issue(std::move(answer));
  issue(Note{.what = Note::What::decision,
             .request = request.asked.request,
             .engine = 0,
             .replica = no_replica,
             .route = policy::Route::placed,
             .rule = rule,
             .candidates = {},
             .session = request.asked.session,
             .waited = now - request.arrived,
             .waited_for = now > request.arrived ? request.why_queued : ""});
}

void Fleet::State::reject_none_up(Request& request) {
  // Engines are probed five times a second, so one may be back in a second; one that may be dying is not believed
  // sooner.
  Duration soonest = std::chrono::seconds(30);
  for (const EngineIndex engine : replicas.engines_of(request.asked.pool))
    soonest = std::min(soonest, replicas.engine(engine).health.distrust(now));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(soonest).count();
  reject(request,
         {request.asked.request, 503, static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 1, 30)),
          "no replica of this model is up", false},
         "no replica is up");
}

}  // namespace wg::fleet
