// The queue of `warm`: a request that no replica can take without throwing out what others need waits here, not inside
// an engine, and is bound to a replica as late as possible.
#include <algorithm>

#include "fleet/state.h"

namespace wg::fleet {

namespace {
constexpr Duration tick = std::chrono::milliseconds(250);  // holds and expectations run out between events

policy::Urgency urgency_of(RequestClass kind, const Lineage* lineage) {
  switch (kind) {
    case RequestClass::sub_agent:
      return policy::Urgency::sub_agent;
    case RequestClass::background:
      return policy::Urgency::background;
    case RequestClass::turn:
    case RequestClass::untracked:
      break;
  }
  return lineage && lineage->wait.end == AnswerEnd::turn ? policy::Urgency::person : policy::Urgency::foreground;
}
}  // namespace

bool Fleet::State::takes_a_seat(const Request& request) const {
  return request.reading.lineage && has_seats(request.asked.pool);
}

bool Fleet::State::has_seats(PoolIndex pool) const {
  return rules[pool].policy == policy::PolicyName::warm && replicas.all_by_rank(pool) && one_keeps_prefixes(pool);
}

// Without a prefix cache anywhere there is nothing to wait for.
bool Fleet::State::one_keeps_prefixes(PoolIndex pool) const {
  for (const EngineIndex engine : replicas.engines_of(pool))
    for (const ReplicaIndex index : replicas.engine(engine).rank_rows)
      if (book.standing(index).keeps_prefixes) return true;
  return false;
}

void Fleet::State::arrive_warm(Request& request) {
  if (may_stay(request)) {
    policy::Decision decision = warm_decision(request, true);
    if (decision.replica != no_replica) {
      dispatch(request, std::move(decision));
      return pump(request.asked.pool);  // who moves leaves room behind
    }
  }
  const char* const why = why_not_stay(request);
  book.unseat(request.reading.lineage);
  queue(request, why);
  pump(request.asked.pool);
  if (request.queued) issue(Hold{request.asked.request});
}

void Fleet::State::queue(Request& request, const char* why) {
  request.why_queued = why;
  const Lineage* const lineage = book.find(request.reading.lineage);
  policy::Urgency urgency = policy::Urgency::person;
  double reading_s = 0;
  if (rules[request.asked.pool].warm.order) {
    urgency = urgency_of(request.asked.kind, lineage);
    reading_s = book.forecast().reading_ahead_s(request.reading);
  }
  request.seen_fresh_starts = 0;
  request.queued = policy::queue_key(request.arrived, request.asked.request, urgency, reading_s);
  waiting[request.asked.pool].queue.emplace(*request.queued, request.asked.request);
}

void Fleet::State::leave_queue(Request& request) {
  if (!request.queued) return;
  waiting[request.asked.pool].queue.erase(*request.queued);
  request.queued.reset();
}

bool Fleet::State::one_stands_empty(PoolIndex pool) const {
  for (const EngineIndex engine : replicas.engines_of(pool))
    for (const ReplicaIndex index : replicas.engine(engine).rank_rows)
      if (book.standing(index).seated == 0 && may_be_sent_to(index)) return true;
  return false;
}

bool Fleet::State::may_be_sent_to(ReplicaIndex at) const {
  const Row& row = replicas.row(at);
  return replicas.up(row) && !replicas.engine(row.state.engine).health.suspected(now);
}

// Looks at those that wait, in their order, and sends on whom it can.
void Fleet::State::pump(PoolIndex pool) {
  WaitingRoom& room = waiting[pool];
  if (room.queue.empty()) return;
  if (!has_seats(pool)) return let_all_go(pool);
  for (const EngineIndex engine : replicas.engines_of(pool))
    for (const ReplicaIndex index : replicas.engine(engine).rank_rows) book.expire_seats(index, now);
  // One who moves may leave a replica empty behind him, for somebody who was passed over.
  while (send_on(pool) && one_stands_empty(pool)) {
  }
  keep_ticking(pool);
}

// Whoever came to nothing somewhere and finds no room elsewhere would keep all others from there. So much later it may
// try again what failed it once.
void Fleet::State::was_overtaken(Request& waiter) {
  if (++waiter.overtaken < policy::most_overtaken || waiter.tried.empty()) return;
  waiter.tried.clear();
  waiter.overtaken = 0;
  waiter.seen_fresh_starts = 0;
}

// True: somebody was sent on past others.
bool Fleet::State::send_on(PoolIndex pool) {
  WaitingRoom& room = waiting[pool];
  bool past_others = false;
  std::vector<Request*> skipped;
  for (auto next = room.queue.begin(); next != room.queue.end();) {
    Request& waiter = requests.at(next->second);
    ++next;
    if (try_waiter(waiter)) {
      for (Request* const passed : skipped) was_overtaken(*passed);
      past_others |= !skipped.empty();
      continue;
    }
    // Whom nothing fits is passed over, but neither by many at a time nor for ever.
    skipped.push_back(&waiter);
    if (skipped.size() > policy::most_skipped || waiter.overtaken >= policy::most_overtaken) break;
  }
  return past_others;
}

// The policy has changed, or no engine keeps prefixes any more: they are placed as who arrives now.
void Fleet::State::let_all_go(PoolIndex pool) {
  const auto& queue = waiting[pool].queue;
  while (!queue.empty()) {
    Request& request = requests.at(queue.begin()->second);
    leave_queue(request);
    arrive_free(request);
  }
}

// True: it waits no longer.
bool Fleet::State::try_waiter(Request& request) {
  if (!is_worth_a_look(request)) return false;
  // The turn before it of its lineage has ended, and a seat is held: for it.
  const Seat* const seat = seat_of(request);
  const bool is_resident = seat && seat->in_flight == 0 && may_stay(request);
  policy::Decision decision = warm_decision(request, is_resident);
  if (decision.replica == no_replica) {
    const bool one_is_up = std::any_of(warm_views.begin(), warm_views.end(), [](const auto& view) { return view.up; });
    if (one_is_up) {
      if (decision.patience_s > 0) {
        request.look_at_all_by = request.arrived + from_seconds(decision.patience_s);
        request.why_queued = "its home was full, and reading all of it elsewhere takes longer";
      }
      return false;
    }
    leave_queue(request);
    reject_none_up(request);
    return true;
  }
  leave_queue(request);
  if (!is_resident) make_room(request, decision.replica);
  dispatch(request, std::move(decision));
  return true;
}

void Fleet::State::make_room(const Request& request, ReplicaIndex at) {
  const Forecast forecast = book.forecast();
  book.make_room(at, forecast.need(forecast.asking(request.reading), at));
}

void Fleet::State::keep_ticking(PoolIndex pool) {
  WaitingRoom& room = waiting[pool];
  if (room.ticking || room.queue.empty()) return;
  room.ticking = true;
  issue(SetTimer{pool, now + tick});
}

void Fleet::State::on(const TimerFired& event) {
  if (event.timer >= waiting.size()) return;
  const auto pool = static_cast<PoolIndex>(event.timer);
  waiting[pool].ticking = false;
  refuse_late(pool);
  ++waiting[pool].fresh_starts;
  pump(pool);
}

// Waiting is the rule. Where a bound is set, it is for conversations that have not begun: half a one is worth nothing.
void Fleet::State::refuse_late(PoolIndex pool) {
  const std::optional<Duration> bound = rules[pool].warm.max_wait;
  if (!bound) return;
  std::vector<Request*> late;
  for (const auto& [key, id] : waiting[pool].queue) {
    Request& waiter = requests.at(id);
    const Lineage* const lineage = book.find(waiter.reading.lineage);
    if (now - waiter.arrived > *bound && (!lineage || lineage->turns == 0)) late.push_back(&waiter);
  }
  for (Request* const waiter : late) {
    leave_queue(*waiter);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*bound).count();
    reject(*waiter,
           {waiter->asked.request, 503, static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 1, 30)),
            "all seats are taken, and admission.max_wait has passed", false},
           "queue: admission.max_wait has passed");
  }
}

bool Fleet::State::another_is_up(const Request& request) {
  replicas.views({request.asked.pool, true, false, {}}, sessions, views);
  policy::leave_out_tried(views, request.tried);
  return std::any_of(views.begin(), views.end(), [](const policy::ReplicaView& view) { return view.up; });
}

}  // namespace wg::fleet
