// One request through the engine: prompt, rank, stream or body, and whatever fault was ordered for it.
#include <array>

#include "core/hash.h"
#include "core/header.h"
#include "replica/answers.h"
#include "replica/plan.h"
#include "replica/prompt.h"
#include "replica/site.h"

namespace wg::replica {
namespace {

constexpr Duration write_timeout = std::chrono::seconds(600);

struct Generation {
  Ask ask;
  Plan plan;
  SessionKey digest;
  std::optional<FaultOrder> own_fault;  // of the request's header
  std::optional<FaultHit> hit;
  std::unique_ptr<Flight> flight;
  std::unique_ptr<Answer> answer;
  std::string response_id;
  std::size_t bytes = 0;  // of the answer's text so far
  std::size_t tokens = 0;
  bool has_begun = false, has_tool = false;
  std::string text, arguments;  // said so far
};

// ---- before the engine ----

std::optional<std::int64_t> whole_number(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

Asked<Wishes> wishes_of(const Site& site, Headers headers) {
  Wishes wishes;
  if (!site.options.admin) return wishes;
  if (const auto text = find_header(headers, "x-output-tokens"); text.data()) {
    const auto tokens = whole_number(text);
    if (!tokens || *tokens < 1 || *tokens > 10'000'000)
      return refuse(bad_request("x-output-tokens must be a number from 1"));
    wishes.tokens = static_cast<std::uint32_t>(*tokens);
  }
  if (const auto text = find_header(headers, "x-finish"); text.data()) {
    for (const Ending ending : {Ending::stop, Ending::length, Ending::tool_calls})
      if (text == openai_name(ending)) wishes.ending = ending;
    if (!wishes.ending) return refuse(bad_request("x-finish must be stop, length or tool_calls"));
  }
  return wishes;
}

Asked<void> go_on_from(const Site& site, Ask& ask) {
  if (ask.previous_response_id.empty()) return {};
  const StoredResponse* const stored = site.responses.peek(ask.previous_response_id);
  if (!stored)
    return refuse({.status = 404,
                   .type = "invalid_request_error",
                   .message = "Response with id '" + ask.previous_response_id + "' not found.",
                   .param = "response_id"});
  const auto place = ask.messages.begin() + static_cast<std::ptrdiff_t>(ask.head_messages);
  ask.messages.insert(place, stored->messages.begin(), stored->messages.end());
  return {};
}

std::string fingerprint_of(const Site& site) {
  const std::string ranks = site.group.ranks() > 1 ? "-dp" + std::to_string(site.group.ranks()) : "";
  return "vllm-0.32.0" + ranks + "-" + site.options.name;
}

void make_answer(Site& site, Headers headers, Generation& job) {
  AnswerFacts facts;
  const auto request_id = find_header(headers, "x-request-id");
  const std::string stem = request_id.empty() ? site.new_id() : std::string(request_id);
  const auto api = job.ask.api;
  facts.id = (api == dialect::Api::completions ? "cmpl-"
              : api == dialect::Api::responses ? "resp_"
                                               : "chatcmpl-") +
             (api == dialect::Api::responses ? site.new_id() : stem);
  facts.part_id = site.new_id();
  facts.created = unix_seconds();
  facts.model = job.ask.model.empty() ? site.model : job.ask.model;
  facts.fingerprint = fingerprint_of(site);
  facts.details = site.options.prompt_tokens_details;
  facts.include_usage = job.ask.include_usage;
  facts.tool = job.plan.tool;
  facts.max_tokens = job.ask.max_tokens.value_or(static_cast<std::int64_t>(job.plan.tokens.size()));
  facts.has_tools = !job.ask.tool.empty();
  facts.instructions = job.ask.instructions;
  facts.previous_response_id = job.ask.previous_response_id;
  job.response_id = facts.id;
  job.answer = answer_in(api, std::move(facts));
}

// From the body to a flight.
Asked<void> send_off(Site& site, Connection& me, dialect::Api api, Generation& job) {
  const Headers headers = me.parser.head().headers;
  const auto type = find_header(headers, "content-type");
  if (!type.substr(0, type.find(';')).starts_with("application/json"))
    return refuse(bad_body("['Unsupported Media Type: Only 'application/json' is allowed']"));
  auto ask = read_ask(api, me.body);
  me.body = {};  // thousands of them may wait
  if (!ask) return tl::unexpected(ask.error());
  job.ask = std::move(*ask);
  if (!job.ask.model.empty() && job.ask.model != site.model) return refuse(unknown_model(job.ask.model));
  if (site.life == Life::dying) return refuse(engine_dead());
  if (const auto text = find_header(headers, "x-fault"); text.data() && site.options.admin) {
    const auto order = read_fault_header(text);
    if (!order) return refuse(bad_request(order.error().what));
    job.own_fault = *order;
  }
  const auto wishes = wishes_of(site, headers);
  if (!wishes) return tl::unexpected(wishes.error());
  if (const auto gone_on = go_on_from(site, job.ask); !gone_on) return gone_on;
  job.digest = digest_of(job.ask);
  const TokenList tokens = tokens_of(job.ask);
  Work work;
  work.prompt = sim::TokenChain(site.options.preset.engine.block_size, xxh3(job.ask.cache_salt));
  work.prompt.append(tokens);
  job.plan = plan_answer(job.ask, *wishes, site.options.preset.load.output, job.digest, site.options.seed);
  work.answer = job.plan.tokens;
  work.ends_with = job.plan.engine_ending();
  if (api != dialect::Api::responses) work.rank = whole_number(find_header(headers, "x-data-parallel-rank"));
  make_answer(site, headers, job);
  // A conversation that may be gone on from keeps its messages; the others' are not needed any more.
  if (api != dialect::Api::responses || !job.ask.store) job.ask.messages.clear();
  job.flight = site.group.send(std::move(work));
  return {};
}

// ---- what comes out ----

Usage usage_of(const Site& site, const Generation& job) {
  const auto& engine = site.options.preset.engine;
  const std::int64_t full = job.flight->prompt / engine.block_size * engine.block_size;
  const std::int64_t created = engine.prefix_caching ? std::max<std::int64_t>(full - job.flight->cached, 0) : 0;
  return {job.flight->prompt, job.flight->cached, created, static_cast<std::int64_t>(job.flight->generated)};
}

Reply reply_of(Site& site, const Generation& job, std::string_view type) {
  Reply reply{200, std::string(type), {}, {}};
  reply.headers = {{"x-replica", site.options.name + "/" + std::to_string(job.flight->rank)},
                   {"x-prompt-hash", hex_of(job.digest)}};
  return reply;
}

// Takes up to `most` generated tokens and says which bytes they add: to the text, or to a call's arguments.
void take_tokens(Generation& job, std::size_t most, std::string& text, std::string& arguments) {
  TokenList& fresh = job.flight->fresh;
  const std::size_t count = std::min(fresh.size(), most);
  std::string more;
  for (std::size_t i = 0; i < count; ++i) append_bytes(more, fresh[i]);
  fresh.erase(fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(count));
  job.tokens += count;
  const std::size_t from = job.bytes, to = job.bytes += more.size();
  if (!job.plan.is_tool_call()) {
    text = std::move(more);
    return;
  }
  const std::size_t begin = std::clamp(job.plan.arguments_begin, from, to);
  const std::size_t end = std::clamp(job.plan.arguments_end, from, to);
  arguments = more.substr(begin - from, end - begin);
}

// Remembers a finished response, with the answer as the conversation's last message.
void store(Site& site, Generation& job, const End& end) {
  if (job.ask.api != dialect::Api::responses || !job.ask.store) return;
  StoredResponse stored;
  stored.body = job.answer->whole(job.text, job.arguments, end);
  const auto head = job.ask.messages.begin() + static_cast<std::ptrdiff_t>(job.ask.head_messages);
  stored.messages.assign(head, job.ask.messages.end());
  std::string said = job.text;
  if (job.plan.is_tool_call())
    said = std::string(tool_call_begin) + job.plan.tool + std::string(tool_call_middle) + job.arguments +
           std::string(tool_call_end);
  stored.messages.push_back({"assistant", std::move(said)});
  site.responses.put(job.response_id, std::move(stored));
}

// The events of what has been generated since; true: the stream is over.
bool produce(Site& site, Generation& job, std::size_t most_tokens, std::string& events) {
  const Flight& flight = *job.flight;
  std::string text, arguments;
  take_tokens(job, most_tokens, text, arguments);
  const bool over = flight.end != Flight::End::none && flight.fresh.empty();
  if (over && flight.end == Flight::End::engine_dead) {
    events += events_of(engine_dead(), job.ask.api);
    return true;
  }
  const End end{flight.end == Flight::End::finished ? job.plan.ending : Ending::abort, usage_of(site, job)};
  if (job.tokens > 0 && !std::exchange(job.has_begun, true)) job.answer->first(events, end.usage);
  job.text += text;
  job.arguments += arguments;
  if (!text.empty()) {
    job.answer->text(events, text, over ? &end : nullptr);
  } else if (!arguments.empty()) {
    if (!std::exchange(job.has_tool, true)) job.answer->tool(events);
    job.answer->arguments(events, arguments, over ? &end : nullptr);
  } else if (over) {
    job.answer->end(events, end);
  }
  if (over) store(site, job, end);
  return over;
}

// ---- faults ----

std::optional<FaultHit> fault_of(Site& site, Generation& job) {
  if (!job.own_fault) return site.faults.next(job.flight->rank, site.group.now());
  Rng rng(job.own_fault->seed);
  if (!is_of_server(job.own_fault->kind)) site.faults.count(job.own_fault->kind);
  return hit_of(*job.own_fault, rng);
}

// Lets time pass until the client has left, or for `lasts`.
net::Task<void> stall(Site& site, Connection& me, Flight& flight, std::optional<Duration> lasts) {
  bool over = false;
  net::Timer timer(site.loop, [&over, &flight] {
    over = true;
    flight.nudge();
  });
  if (lasts) timer.set(site.group.real(*lasts));
  while (!over && !me.gone) co_await flight.news();
}

bool is(const Generation& job, FaultKind kind) { return job.hit && job.hit->kind == kind; }

bool is_mid(const Generation& job) {
  return is(job, FaultKind::stall_mid) || is(job, FaultKind::die_mid) || is(job, FaultKind::die_group) ||
         is(job, FaultKind::truncated_chunk);
}

// ---- answering ----

net::Task<bool> write_piece(Connection& me, const std::string& bytes) {
  const std::array<std::string_view, 1> pieces{bytes};
  const auto sent = co_await me.stream.write(pieces, write_timeout);
  co_return sent.has_value() && !me.gone;
}

std::string chunk_of(std::string_view bytes, std::size_t claimed) {
  char buffer[24];
  std::string out(http::chunk_begin(claimed, buffer));
  return out.append(bytes).append(http::chunk_end);
}

// What a fault does in the middle of a stream; `events` is the last that was said. False: the connection is done for.
net::Task<bool> break_stream(Site& site, Connection& me, Generation& job, const std::string& events) {
  if (is(job, FaultKind::stall_mid)) {
    co_await stall(site, me, *job.flight, job.hit->lasts);
    co_return !me.gone;
  }
  if (is(job, FaultKind::truncated_chunk)) {
    const std::string cut = chunk_of(events, events.size() + 512);
    me.stream.write_now(std::string_view(cut).substr(0, cut.size() - 2));
    co_return false;
  }
  if (is(job, FaultKind::die_group)) {
    site.faults.count(FaultKind::die_group);
    site.die_group(job.flight->rank, job.hit->lasts.value_or(std::chrono::seconds(10)));
    co_return true;
  }
  me.stream.reset();
  co_return false;
}

net::Task<bool> stream_answer(Site& site, Connection& me, Generation& job) {
  const bool framed = !is(job, FaultKind::wrong_length);
  const Reply reply = reply_of(site, job, "text/event-stream; charset=utf-8");
  std::string out =
      head_of(reply, framed ? std::nullopt : std::optional<std::size_t>(100'000'000), me.parser.head().keep_alive);
  std::string events;
  job.answer->open(events);
  if (!events.empty()) out += framed ? chunk_of(events, events.size()) : events;
  ++site.http_requests[{std::string(me.parser.head().path()), "POST"}]["2xx"];
  bool open = co_await write_piece(me, out);
  if (!open) co_return false;
  if (is(job, FaultKind::reset_after_head)) {
    me.stream.reset();
    co_return false;
  }
  if (is(job, FaultKind::stall_first)) {
    co_await stall(site, me, *job.flight, job.hit->lasts);
    if (me.gone) co_return false;
  }
  // A fault in mid-stream comes before the last token.
  bool breaks = is_mid(job);
  const std::size_t breaks_at = breaks ? std::min<std::size_t>(job.hit->after_tokens, job.plan.tokens.size() - 1) : 0;
  for (bool over = false; !over;) {
    while (job.flight->fresh.empty() && job.flight->end == Flight::End::none && !me.gone &&
           !(breaks && job.tokens >= breaks_at))
      co_await job.flight->news();
    if (me.gone) co_return false;
    events.clear();
    over = produce(site, job, breaks ? breaks_at - job.tokens : job.plan.tokens.size(), events);
    const bool now_breaks = breaks && job.tokens >= breaks_at && !over;
    if (!events.empty() && !(now_breaks && is(job, FaultKind::truncated_chunk))) {
      out = framed ? chunk_of(events, events.size()) : events;
      open = co_await write_piece(me, out);
      if (!open) co_return false;
    }
    if (!now_breaks) continue;
    breaks = false;
    open = co_await break_stream(site, me, job, events);
    if (!open) co_return false;
  }
  if (!framed) co_return false;
  out = std::string(http::last_chunk);
  open = co_await write_piece(me, out);
  co_return open&& me.parser.head().keep_alive&& site.life != Life::down;
}

// The whole body at once. Faults in mid-stream come in the middle of the body.
net::Task<bool> whole_answer(Site& site, Connection& me, Generation& job) {
  if (is(job, FaultKind::die_group)) {
    site.faults.count(FaultKind::die_group);
    site.die_group(job.flight->rank, job.hit->lasts.value_or(std::chrono::seconds(10)));
  }
  while (job.flight->end == Flight::End::none && !me.gone) co_await job.flight->news();
  if (me.gone) co_return false;
  Reply reply = reply_of(site, job, "application/json");
  if (job.flight->end == Flight::End::engine_dead) {
    reply.status = 500;
    reply.body = body_of(engine_dead(), job.ask.api);
    const bool kept = co_await write_reply(site, me, reply);
    co_return kept;
  }
  take_tokens(job, job.plan.tokens.size(), job.text, job.arguments);
  const bool finished = job.flight->end == Flight::End::finished;
  const End end{finished ? job.plan.ending : Ending::abort, usage_of(site, job)};
  reply.body = job.answer->whole(job.text, job.arguments, end);
  store(site, job, end);
  const bool in_half = job.hit && (is(job, FaultKind::stall_mid) || is(job, FaultKind::die_mid) ||
                                   is(job, FaultKind::reset_after_head) || is(job, FaultKind::stall_first) ||
                                   is(job, FaultKind::truncated_chunk) || is(job, FaultKind::wrong_length));
  if (!in_half) {
    const bool kept = co_await write_reply(site, me, reply);
    co_return kept;
  }
  const std::string_view body = reply.body;
  const bool no_body = is(job, FaultKind::reset_after_head) || is(job, FaultKind::stall_first);
  std::size_t shown = no_body ? 0 : body.size() / 2;
  std::string out;
  if (is(job, FaultKind::truncated_chunk)) {
    out = head_of(reply, std::nullopt, true) + chunk_of(body.substr(0, shown), body.size());
    out.resize(out.size() - 2);
  } else {
    const bool longer = is(job, FaultKind::wrong_length);
    if (longer) shown = body.size();
    out = head_of(reply, body.size() + (longer ? 100 : 0), true) + std::string(body.substr(0, shown));
  }
  const bool open = co_await write_piece(me, out);
  if (!open) co_return false;
  if (is(job, FaultKind::die_mid) || is(job, FaultKind::reset_after_head)) me.stream.reset();
  if (!is(job, FaultKind::stall_mid) && !is(job, FaultKind::stall_first)) co_return false;
  co_await stall(site, me, *job.flight, job.hit->lasts);
  if (me.gone) co_return false;
  const std::string rest(body.substr(shown));
  const bool kept = co_await write_piece(me, rest);
  co_return kept;
}

// What a fault does before there is a head; nothing: the answer goes its way.
std::optional<Reply> instead_of_answer(const Generation& job) {
  if (is(job, FaultKind::html_error))
    return Reply{502,
                 "text/html",
                 "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad "
                 "Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n",
                 {}};
  if (is(job, FaultKind::status_500) || (is(job, FaultKind::error_first) && !job.ask.stream)) {
    const Refusal refusal{.status = 500, .type = "InternalServerError", .message = "Internal server error"};
    return Reply{500, "application/json", body_of(refusal, job.ask.api), {}};
  }
  return std::nullopt;
}

net::Task<bool> refused_stream(Site& site, Connection& me, Generation& job, const Refusal& refusal) {
  const Reply reply = reply_of(site, job, "text/event-stream; charset=utf-8");
  const std::string events = events_of(refusal, job.ask.api);
  const std::string out = head_of(reply, std::nullopt, me.parser.head().keep_alive) + chunk_of(events, events.size()) +
                          std::string(http::last_chunk);
  const bool open = co_await write_piece(me, out);
  co_return open&& me.parser.head().keep_alive;
}

net::Task<bool> answer(Site& site, Connection& me, Generation& job) {
  while (!job.flight->arrived && !me.gone) co_await job.flight->news();
  if (me.gone) co_return false;
  if (job.flight->end == Flight::End::refused) {
    const Refusal& refusal = job.flight->refusal;
    if (job.ask.stream && !refusal.before_streaming) {
      const bool kept = co_await refused_stream(site, me, job, refusal);
      co_return kept;
    }
    const Reply reply{refusal.status, "application/json", body_of(refusal, job.ask.api), {}};
    const bool kept = co_await write_reply(site, me, reply);
    co_return kept;
  }
  job.hit = fault_of(site, job);
  if (job.hit && is_of_server(job.hit->kind) && job.hit->kind != FaultKind::die_group) {
    const FaultOrder order = *job.own_fault;
    site.carry_out(order);
    if (me.gone) co_return false;
  }
  if (is(job, FaultKind::reset_before_head)) {
    me.stream.reset();
    co_return false;
  }
  if (is(job, FaultKind::stall_head)) co_await stall(site, me, *job.flight, job.hit->lasts);
  if (is(job, FaultKind::slow_first_byte)) {
    const std::optional<Duration> delay = job.hit->delay;
    co_await stall(site, me, *job.flight, delay);
  }
  if (me.gone) co_return false;
  const std::optional<Reply> instead = instead_of_answer(job);
  if (instead) {
    const bool kept = co_await write_reply(site, me, *instead);
    co_return kept;
  }
  if (is(job, FaultKind::error_first)) {
    const Refusal refusal{.status = 500, .type = "InternalServerError", .message = "Internal server error"};
    const bool kept = co_await refused_stream(site, me, job, refusal);
    co_return kept;
  }
  if (job.ask.stream) {
    const bool kept = co_await stream_answer(site, me, job);
    co_return kept;
  }
  const bool kept = co_await whole_answer(site, me, job);
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
  if (!sent) {
    const Reply reply{sent.error().status, "application/json", body_of(sent.error(), api), {}};
    const bool kept = co_await write_reply(site, me, reply);
    co_return kept;
  }
  job.flight->whole_only = !job.ask.stream;
  const Watch watch(site, me, *job.flight);
  const bool kept = co_await answer(site, me, job);
  co_return kept;
}

}  // namespace wg::replica
