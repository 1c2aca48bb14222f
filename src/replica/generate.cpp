// One request's coroutine: waits for its engine, then streams the answer or writes it whole.
#include "core/header.h"
#include "replica/broken_answers.h"
#include "replica/generation.h"

namespace wg::replica {
namespace {

constexpr std::size_t endless = 100'000'000;  // a Content-Length that no stream reaches

std::optional<FaultHit> fault_of(Site& site, const Generation& job) {
  if (!job.own_fault) return site.faults.next(job.flight->rank, site.group.now());
  Rng rng(job.own_fault->seed);
  if (!is_of_process(job.own_fault->kind)) site.faults.count(job.own_fault->kind);
  return hit_of(*job.own_fault, rng);
}

bool goes_on(const Site& site, const Connection& me) { return me.parser.head().keep_alive && site.life != Life::down; }

// The events, one write after the other, as the engine makes them. A fault in mid-stream comes before the last token.
net::Task<bool> stream_events(Site& site, Connection& me, Generation& job, bool framed) {
  const std::size_t all = job.plan.tokens.size();
  bool breaks = breaks_in_mid_stream(job);
  const std::size_t breaks_at = breaks ? std::min<std::size_t>(job.hit->after_tokens, all - 1) : 0;
  std::string events, out;
  for (bool over = false; !over;) {
    const bool at_break = breaks && job.tokens >= breaks_at;
    while (!at_break && job.flight->fresh.empty() && job.flight->end == Flight::End::none && !me.gone)
      co_await job.flight->news();
    if (me.gone) co_return false;
    events.clear();
    over = produce(site, job, breaks ? breaks_at - job.tokens : all, events);
    const bool now_breaks = breaks && job.tokens >= breaks_at && !over;
    if (!events.empty() && !(now_breaks && is(job, FaultKind::truncated_chunk))) {
      out = framed ? chunk_of(events) : events;
      const bool open = co_await write_piece(me, out);
      if (!open) co_return false;
    }
    if (!now_breaks) continue;
    breaks = false;
    const bool open = co_await break_stream(site, me, job, events);
    if (!open) co_return false;
  }
  co_return true;
}

net::Task<bool> stream_answer(Site& site, Connection& me, Generation& job) {
  const bool framed = !is(job, FaultKind::wrong_length);
  const Reply reply = reply_of(site, job, "text/event-stream; charset=utf-8");
  count_request(site, me, reply.status);
  const std::optional<std::size_t> length = framed ? std::nullopt : std::optional(endless);
  std::string out = head_of(reply, length, me.parser.head().keep_alive);
  std::string events;
  job.answer->open(events);
  if (!events.empty()) out += framed ? chunk_of(events) : events;
  bool open = co_await write_piece(me, out);
  if (!open) co_return false;
  if (is(job, FaultKind::reset_after_head)) {
    me.stream.reset();
    co_return false;
  }
  if (is(job, FaultKind::stall_first)) co_await stall(site, me, *job.flight, job.hit->lasts);
  open = co_await stream_events(site, me, job, framed);
  if (!open || !framed) co_return false;
  const std::string last(http::last_chunk);
  open = co_await write_piece(me, last);
  co_return open&& goes_on(site, me);
}

net::Task<bool> whole_answer(Site& site, Connection& me, Generation& job) {
  if (is(job, FaultKind::die_group)) die_as_group(site, job);
  while (job.flight->end == Flight::End::none && !me.gone) co_await job.flight->news();
  if (me.gone) co_return false;
  Reply reply = reply_of(site, job, "application/json");
  if (job.flight->end == Flight::End::engine_dead) {
    reply.status = 500;
    reply.body = body_of(engine_dead(), job.ask.api);
  } else {
    reply.body = whole_body(site, job);
  }
  bool kept = false;
  if (breaks_whole_body(job))
    kept = co_await write_broken(site, me, job, reply);
  else
    kept = co_await write_reply(site, me, reply);
  co_return kept&& goes_on(site, me);
}

// What vLLM notices only when a stream's head is out.
net::Task<bool> refuse_in_stream(Site& site, Connection& me, const Generation& job, const Refusal& refusal) {
  const Reply reply = reply_of(site, job, "text/event-stream; charset=utf-8");
  count_request(site, me, reply.status);
  const std::string events = events_of(refusal, job.ask.api);
  const std::string out =
      head_of(reply, std::nullopt, me.parser.head().keep_alive) + chunk_of(events) + std::string(http::last_chunk);
  const bool open = co_await write_piece(me, out);
  co_return open&& goes_on(site, me);
}

net::Task<bool> refuse_request(Site& site, Connection& me, const Generation& job, const Refusal& refusal) {
  bool kept = false;
  if (job.ask.stream && !refusal.before_streaming) {
    kept = co_await refuse_in_stream(site, me, job, refusal);
  } else {
    const Reply reply{refusal.status, "application/json", body_of(refusal, job.ask.api), {}};
    kept = co_await write_reply(site, me, reply);
  }
  co_return kept;
}

net::Task<bool> answer(Site& site, Connection& me, Generation& job) {
  while (!job.flight->arrived && !me.gone) co_await job.flight->news();
  if (me.gone) co_return false;
  bool kept = false;
  if (job.flight->end == Flight::End::refused) {
    kept = co_await refuse_request(site, me, job, job.flight->refusal);
    co_return kept;
  }
  job.hit = fault_of(site, job);
  const bool open = co_await break_before_head(site, me, job);
  if (!open) co_return false;
  const std::optional<Reply> instead = instead_of_answer(job);
  if (instead) {
    kept = co_await write_reply(site, me, *instead);
  } else if (is(job, FaultKind::error_first)) {
    const Refusal error = internal_error();
    kept = co_await refuse_in_stream(site, me, job, error);
  } else if (job.ask.stream) {
    kept = co_await stream_answer(site, me, job);
  } else {
    kept = co_await whole_answer(site, me, job);
  }
  co_return kept;
}

// Counts the request while it lives, and lets the connection tell its flight when the client has gone.
struct Watch {
  Watch(Site& its_site, Connection& its_connection, Flight& flight) : site(its_site), me(its_connection) {
    ++site.load;
    me.flight = &flight;
    me.stream.watch([this] {
      me.gone = true;
      me.flight->nudge();
    });
  }
  ~Watch() {
    --site.load;
    me.stream.unwatch();
    me.flight = nullptr;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  Site& site;
  Connection& me;
};

}  // namespace

net::Task<bool> generate(Site& site, Connection& me, dialect::Api api) {
  Generation job;
  const auto sent = send_off(site, me, api, job);
  bool kept = false;
  if (!sent) {
    const Reply reply{sent.error().status, "application/json", body_of(sent.error(), api), {}};
    kept = co_await write_reply(site, me, reply);
    co_return kept;
  }
  job.flight->whole_only = !job.ask.stream;
  const Watch watch(site, me, *job.flight);
  kept = co_await answer(site, me, job);
  co_return kept;
}

}  // namespace wg::replica
