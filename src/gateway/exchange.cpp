// One request from its first byte to its last: the stages in their order.
#include "gateway/exchange.h"

#include <algorithm>

#include "core/hash.h"
#include "core/reserve.h"
#include "gateway/stages.h"
#include "gateway/ticket.h"

namespace wg::gateway {
namespace {

bool is_usable_request_id(std::string_view id) {
  return !id.empty() && id.size() <= 128 &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 127; });
}

std::string new_request_id(Shared& shared, RequestId id) {
  char text[40];
  std::snprintf(text, sizeof text, "wg-%016llx%08llx", static_cast<unsigned long long>(mix(shared.id_seed, id)),
                static_cast<unsigned long long>(id & 0xffffffff));
  return text;
}

net::Task<After> end(Exchange& x, Ticket& ticket, fleet::Outcome outcome, After after) {
  ticket.set_outcome(outcome);
  account(x, outcome);
  co_return after;
}

// The engine's answers that cannot be passed on are over; a busy one is kept in case nobody else can do better.
net::Task<After> refuse_for_good(Exchange& x, Ticket& ticket, const fleet::Reject& reject) {
  const fleet::Outcome outcome =
      x.dispatch.replica == no_replica ? fleet::Outcome::refused_by_us : fleet::Outcome::failed;
  const Error error{Fault::upstream, reject.why, reject.status};
  const After after = co_await refuse(x, error, reject.status == 503 ? reject.retry_after_s : 0);
  const After ended = co_await end(x, ticket, outcome, after);
  co_return ended;
}

net::Task<Decision> decide(Exchange& x, const fleet::Event& event) {
  Brain& brain = x.shared.brain;
  x.undecided = true;
  Brain::Ask ask(brain, x.context.loop, event, x.id);
  Decision decision = co_await ask;
  x.undecided = false;
  x.directory = brain.directory().get();
  co_return decision;
}

// Decide, forward, try elsewhere, relay: from the arrival in the fleet to the end of the upstream exchange.
net::Task<After> send(Exchange& x) {
  Brain& brain = x.shared.brain;
  const fleet::Event arrived = arrival(x);
  SignsOfLife signs(x);  // it may wait for a seat
  x.connection.stream.watch([&x] { x.leave(); });
  Decision decision = co_await decide(x, arrived);
  Ticket ticket(brain, x.id);
  for (;;) {
    if (x.client_gone) {
      const After after = co_await end(x, ticket, fleet::Outcome::client_gone, After::close);
      co_return after;
    }
    if (*decision.rule) x.record.rule = decision.rule;
    if (const auto* reject = std::get_if<fleet::Reject>(&decision.command)) {
      if (reject->pass_upstream_answer && x.upstream && x.upstream_answered) break;
      x.connection.stream.unwatch();
      const After after = co_await refuse_for_good(x, ticket, *reject);
      co_return after;
    }
    x.dispatch = std::get<fleet::Dispatch>(decision.command);
    close_upstream(x);
    ++x.record.attempts;
    const Attempt attempt = co_await forward(x);
    x.upstream_answered = attempt.answered;
    if (x.client_gone) {
      const After after = co_await end(x, ticket, fleet::Outcome::client_gone, After::close);
      co_return after;
    }
    if (!attempt.failure) {
      x.record.error.clear();
      break;
    }
    x.record.error = attempt.why;
    if (*attempt.failure != fleet::Failure::stale_connection)
      x.shared.metrics.count_retry(x.directory->pools[x.pool].name, policy::name_of(*attempt.failure));
    const fleet::Event event = fleet::AttemptFailed{x.id, *attempt.failure};
    decision = co_await decide(x, event);
  }
  const fleet::Outcome outcome = co_await relay(x);
  signs.hold();
  x.connection.stream.unwatch();
  if (outcome == fleet::Outcome::ok) release_upstream(x);
  const bool sound = outcome == fleet::Outcome::ok && x.keep_alive;
  account(x, outcome);
  ticket.set_outcome(outcome);
  close_upstream(x);
  co_return sound ? After::keep : After::close;
}

bool is_forwarded(const Exchange& x) {
  return x.rule.handling == Handling::forward || x.rule.handling == Handling::forward_response;
}

// The body, if there is one. A client that waits for "100 Continue" gets it only for a request that will be taken.
net::Task<Result<void>> take_body(Exchange& x) {
  if (!x.head.has_body()) co_return Result<void>();
  if (x.head.expects_continue) {
    if (!is_forwarded(x) || x.head.content_length.value_or(0) > x.shared.config.limits.body) co_return Result<void>();
    const std::vector<std::string_view> interim{"HTTP/1.1 100 Continue\r\n\r\n"};
    co_await x.connection.stream.write(interim, x.shared.config.timeouts.stream_idle);
  }
  auto read = co_await read_body(x.connection);
  x.body_read = read.has_value();
  co_return read;
}

net::Task<After> handle(Exchange& x) {
  // Out of memory: what is under way goes on, new work has to wait.
  const bool shed = reserve::spent() && is_forwarded(x);
  Result<void> fine;
  if (shed)
    fine = fail(Fault::self, "the gateway is out of memory", 503);
  else
    fine = co_await take_body(x);
  if (!fine && fine.error().fault == Fault::cancelled) co_return After::close;
  if (fine && !is_forwarded(x)) {
    const After after = co_await answer_locally(x);
    if (x.status >= 400) account(x, fleet::Outcome::refused_by_us);
    co_return after;
  }
  if (fine && x.head.has_body() && !x.body_read)
    fine = fail(Fault::client, "the body is longer than limits.body allows", 413);
  if (fine) fine = inspect(x);
  if (!fine) {
    const Error& error = fine.error();
    const After after = co_await refuse(x, error, error.status == 503 ? 1 : 0);
    account(x, fleet::Outcome::refused_by_us);
    co_return after;
  }
  x.in_pool = true;
  const After after = co_await send(x);
  co_return after;
}

}  // namespace

Exchange::Exchange(Connection& its_connection, const http::RequestHead& its_head)
    : connection(its_connection),
      context(its_connection.context),
      shared(its_connection.context.shared),
      head(its_head),
      rule(rule_for(head.method, head.path(), head.upgrade, shared.config.paths)),
      shape(dialect::shape_of(rule.api)),
      arrived(context.loop.now()),
      directory(shared.brain.directory().get()),
      id(shared.requests.fetch_add(1, std::memory_order_relaxed) + 1),
      reader(rule.api),
      keep_alive(head.keep_alive && !shared.draining) {
  if (!find_header(head.headers, "anthropic-version").empty()) shape = dialect::Shape::anthropic;
  const std::string_view given = find_header(head.headers, "x-request-id");
  request_id = is_usable_request_id(given) ? std::string(given) : new_request_id(shared, id);
}

void Exchange::leave() {
  client_gone = true;
  if (undecided)
    shared.brain.withdraw(id);
  else if (dialling)
    dialling->cancel();
  else if (upstream && upstream->stream)
    upstream->stream.cancel();
}

net::Task<After> exchange(Connection& connection) {
  Error error;
  const HeadRead read = co_await read_head(connection, error);
  if (read == HeadRead::closed) co_return After::close;
  if (read == HeadRead::failed) {
    const After after = co_await refuse_unparsed(connection, error);
    co_return after;
  }
  Exchange x(connection, connection.parser.head());
  const After after = co_await handle(x);
  co_return after;
}

}  // namespace wg::gateway
