// An attempt came to nothing before the client saw a byte of it: what it says about the engine, and what now.
#include <algorithm>

#include "core/assert.h"
#include "fleet/state.h"

namespace wg::fleet {

void Fleet::State::on(const AttemptFailed& event) {
  Request* failed = request(event.request);
  if (!failed || failed->replica == no_replica) return WG_BUG("an attempt failed that was not under way");

  // Health first: whether the session's home is down decides whether it is re-homed.
  if (event.failure == policy::Failure::refused) met_broken(failed->replica, "health: connection refused");
  if (event.failure == policy::Failure::engine_dead) met_dying(failed->replica, "health: the engine says it is dead");
  if (event.failure == policy::Failure::reset_before_head ||
      (event.failure == policy::Failure::stale_connection && failed->fresh_connection))
    met_reset(failed->replica);

  const policy::Attempts attempts{failed->retries, spec.max_retries, failed->fresh_connection,
                                  replicas.up(replicas.row(failed->replica))};
  switch (policy::after(event.failure, attempts)) {
    case policy::Again::same_replica: {
      failed->fresh_connection = true;
      // Still in flight where it was, and by the same decision: nothing to count.
      issue(Dispatch{event.request, failed->replica, failed->route, true});
      return;
    }
    case policy::Again::another_replica:
      retry_elsewhere(*failed, event.failure);
      break;
    case policy::Again::none:
      give_up(
          *failed, event.failure,
          event.failure == policy::Failure::timed_out ? "retry: none after a time-out" : "retry: no attempt is left");
      break;
  }
  pump(failed->asked.pool);  // where it was there is room now
}

void Fleet::State::retry_elsewhere(Request& request, policy::Failure failure) {
  if (request.pinned) return give_up(request, failure, "retry: none, it is pinned");
  request.tried.push_back(request.replica);
  if (takes_a_seat(request)) return retry_warm(request, failure);
  const Session* session =
      request.session_serial ? sessions.peek(request.asked.session, request.session_serial) : nullptr;
  policy::Decision decision = decide(request, session);
  if (decision.replica == no_replica) return give_up(request, failure, "retry: no other replica is up");
  ++request.retries;
  request.fresh_connection = false;
  let_go(request, false);
  dispatch(request, std::move(decision));
}

// It joins the queue again, where it was: in front, as a rule.
void Fleet::State::retry_warm(Request& request, policy::Failure failure) {
  if (!another_is_up(request)) return give_up(request, failure, "retry: no other replica is up");
  ++request.retries;
  request.fresh_connection = false;
  let_go(request, false);
  request.replica = no_replica;
  queue(request, "its attempt elsewhere had come to nothing");
}

void Fleet::State::give_up(Request& request, policy::Failure failure, const char* rule) {
  let_go(request, false);
  request.replica = no_replica;
  Reject answer{request.asked.request, 503, 1, "the replica failed before it answered, and no other could take over",
                false};
  if (failure == policy::Failure::timed_out) answer.status = 504, answer.why = "the replica did not answer in time";
  answer.pass_upstream_answer = failure == policy::Failure::busy;
  reject(request, std::move(answer), rule);
}

}  // namespace wg::fleet
