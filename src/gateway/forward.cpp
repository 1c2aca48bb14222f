// Stage 5: one attempt to get an answer out of a replica. The answer's head is held back until its first event (or, not
// streamed, its whole body up to 4 MB) has been looked at, so that a failure can still be tried elsewhere.
#include <algorithm>

#include "dialect/error_body.h"
#include "gateway/stages.h"
#include "http/header_rules.h"

namespace wg::gateway {
namespace {

constexpr std::size_t held_limit = 4 << 20;

Attempt failed(fleet::Failure failure, std::string why) { return {failure, false, std::move(why)}; }

fleet::Failure failure_of(net::IoError error) {
  switch (error) {
    case net::IoError::refused:
      return fleet::Failure::refused;
    case net::IoError::timed_out:
      return fleet::Failure::timed_out;
    default:
      return fleet::Failure::reset_before_head;
  }
}

net::Task<net::IoResult<net::Stream>> dial_engine(Exchange& x, const EngineEntry& engine) {
  net::Dial dial(x.context.loop, engine.url.host, engine.url.port, x.shared.config.timeouts.connect);
  x.dialling = &dial;
  auto stream = co_await dial;
  x.dialling = nullptr;
  co_return stream;
}

net::Task<net::IoResult<void>> connect(Exchange& x) {
  const EngineEntry& engine = x.engine();
  Upstream& up = open_upstream(x, x.replica().engine);
  if (!x.dispatch.same_connection_rule) {
    if (auto kept = x.context.idle[up.engine]->take()) {
      up.stream = std::move(*kept);
      up.reused = true;
      co_return net::IoResult<void>();
    }
  }
  auto stream = co_await dial_engine(x, engine);
  if (!stream && stream.error() == net::IoError::exhausted && !x.client_gone) {
    // Kept connections hold descriptors too; those of other engines may be the ones in the way.
    for (const auto& pool : x.context.idle) pool->clear();
    stream = co_await dial_engine(x, engine);
  }
  if (!stream)
    co_return tl::unexpected(stream.error() == net::IoError::timed_out ? net::IoError::refused : stream.error());
  up.stream = std::move(*stream);
  co_return net::IoResult<void>();
}

void plan(Exchange& x) {
  const EngineEntry& engine = x.engine();
  const auto& allowed = x.shared.config.edits;
  const dialect::Api api = x.rule.api;
  dialect::EditPlan plan;
  if (allowed.model && !x.facts.model.empty() && !engine.model.empty() && x.facts.model != engine.model)
    plan.model = engine.model;
  plan.add_include_usage = allowed.include_usage && x.facts.stream && !x.facts.include_usage &&
                           (api == dialect::Api::chat || api == dialect::Api::completions);
  plan.drop_billing_line = allowed.billing_line && engine.kind != probe::EngineKind::vllm;  // which drops it itself
  x.added_include_usage = plan.add_include_usage;
  x.edits = dialect::plan_edits(x.facts, plan);
}

// An engine may answer before it has read a large body, and never read the rest: then waiting for the write to end
// would be waiting for ever. So a write that takes its time is watched from behind, and given up when an answer comes.
class EarlyAnswer {
 public:
  EarlyAnswer(Exchange& x, std::uint64_t body_bytes)
      : stream_(x.upstream->stream), timer_(x.context.loop, [this] { watch(); }) {
    if (body_bytes > taken_at_once) timer_.set(patience);
  }
  ~EarlyAnswer() {
    if (watching_) stream_.unwatch();
  }

 private:
  static constexpr std::uint64_t taken_at_once = 32 * 1024;
  static constexpr Duration patience = std::chrono::milliseconds(100);

  void watch() {
    watching_ = true;
    stream_.watch([this] { stream_.cancel(); },
                  [this](std::string_view bytes) {
                    if (is_answer(bytes)) stream_.cancel();
                  });
  }
  // More than interim answers, of which the parser takes care.
  static bool is_answer(std::string_view bytes) {
    while (bytes.starts_with("HTTP/1.1 1")) {
      const std::size_t end = bytes.find("\r\n\r\n");
      if (end == bytes.npos) return false;
      bytes.remove_prefix(end + 4);
    }
    return !bytes.empty() && !std::string_view("HTTP/1.1 1").starts_with(bytes);
  }

  net::Stream& stream_;
  net::Timer timer_;
  bool watching_ = false;
};

net::Task<net::IoResult<void>> send_request(Exchange& x) {
  const EngineEntry& engine = x.engine();
  const std::string_view body = x.connection.body.view();
  http::UpstreamHead upstream;
  upstream.host = engine.host_header;
  upstream.base_path = engine.url.base_path;
  upstream.credential = engine.credential;
  upstream.rank = x.replica().steer_to;
  upstream.has_body = x.head.chunked || x.head.content_length;  // a length of 0 is said too
  upstream.body_bytes = dialect::edited_size(body, x.edits);
  upstream.request_id = x.request_id;
  std::string head;
  head.reserve(1024);
  http::write_request_head(head, x.head, upstream);
  std::vector<std::string_view> pieces{head};
  for (const std::string_view piece : dialect::pieces(body, x.edits)) pieces.push_back(piece);
  x.dispatched = x.context.loop.now();
  const EarlyAnswer watched(x, upstream.body_bytes);
  const auto sent = co_await x.upstream->stream.write(pieces, x.shared.config.timeouts.stream_idle);
  x.upstream->torn = !sent;
  co_return sent;
}

bool is_event_stream(const Exchange& x, const http::ResponseHead& head) {
  const std::string_view type = find_header(head.headers, "content-type");
  constexpr std::string_view event_stream = "text/event-stream";
  return x.rule.api != dialect::Api::other && head.status == 200 &&
         equals_ignoring_case(type.substr(0, event_stream.size()), event_stream);
}

bool is_packed(const http::ResponseHead& head) {
  const std::string_view coding = find_header(head.headers, "content-encoding");
  return !coding.empty() && !equals_ignoring_case(coding, "identity");
}

// Of a stream that we cannot look into only the first bytes are held back.
net::Task<Attempt> hold_first_bytes(Exchange& x) {
  Upstream& up = *x.upstream;
  std::vector<std::string_view> spans;
  const auto more = co_await read_response_body(x, spans, x.shared.config.timeouts.first_byte);
  if (!more)
    co_return failed(failure_of(more.error()),
                     "the stream broke before its first byte: " + std::string(net::name_of(more.error())));
  for (const std::string_view span : spans) up.held.append(span);
  co_return Attempt{std::nullopt, true, ""};
}

// Reads until the first event that is no comment; it stays in up.held. A server error or an abort as first event is a
// failure: nothing has reached the client yet.
net::Task<Attempt> hold_first_event(Exchange& x) {
  Upstream& up = *x.upstream;
  http::SseScanner scanner;
  dialect::AnswerReader first(x.rule.api);
  std::vector<std::string_view> spans;
  std::size_t scanned = 0, event_begin = 0;
  while (!up.complete && up.held.size() < held_limit) {
    const auto more = co_await read_response_body(x, spans, x.shared.config.timeouts.first_byte);
    if (!more)
      co_return failed(failure_of(more.error()),
                       "the stream broke before its first event: " + std::string(net::name_of(more.error())));
    for (const std::string_view span : spans) up.held.append(span);
    for (;;) {
      const std::size_t end = scanner.next_end(up.held.view(scanned));
      if (end == http::SseScanner::npos) break;
      scanned += end;
      const std::string_view text = up.held.view().substr(event_begin, scanned - event_begin);
      const dialect::Event event = first.on_event(text);
      event_begin = scanned;
      if (event.kind == dialect::EventKind::comment) continue;
      if (event.kind == dialect::EventKind::abort)
        co_return failed(fleet::Failure::engine_dead, "the engine aborted the request");
      if (event.kind == dialect::EventKind::error && event.status >= 500) {
        co_return Attempt{event.engine_dead ? fleet::Failure::engine_dead : fleet::Failure::busy, true,
                          "the engine answered with an error event"};
      }
      co_return Attempt{std::nullopt, true, ""};
    }
    scanned = up.held.size();
  }
  if (up.held.empty()) co_return failed(fleet::Failure::reset_before_head, "the stream ended without an event");
  co_return Attempt{std::nullopt, true, ""};
}

// Reads a whole answer, or its first 4 MB.
net::Task<Attempt> hold_body(Exchange& x) {
  Upstream& up = *x.upstream;
  std::vector<std::string_view> spans;
  while (!up.complete && up.held.size() < held_limit) {
    const auto more = co_await read_response_body(x, spans, x.shared.config.timeouts.first_byte);
    if (!more)
      co_return failed(failure_of(more.error()), "the answer broke off: " + std::string(net::name_of(more.error())));
    for (const std::string_view span : spans) up.held.append(span);
  }
  const int status = up.parser.head().status;
  if (status == 502 || status == 503)
    co_return Attempt{fleet::Failure::busy, true, "the engine answered " + std::to_string(status)};
  if (!up.complete || x.rule.api == dialect::Api::other) co_return Attempt{std::nullopt, true, ""};
  up.held.room(dialect::body_padding);
  const dialect::Event event = x.reader.on_body(up.held.view());
  if (event.kind == dialect::EventKind::abort) {
    x.reader = dialect::AnswerReader(x.rule.api);
    co_return failed(fleet::Failure::engine_dead, "the engine aborted the request");
  }
  if (status >= 500 && event.engine_dead) co_return Attempt{fleet::Failure::engine_dead, true, "the engine is dead"};
  co_return Attempt{std::nullopt, true, ""};
}

}  // namespace

net::Task<Attempt> forward(Exchange& x) {
  plan(x);
  const auto connected = co_await connect(x);
  if (!connected)
    co_return failed(failure_of(connected.error()), "no connection: " + std::string(net::name_of(connected.error())));
  if (x.client_gone) co_return failed(fleet::Failure::reset_before_head, "the client has left");

  // An engine may refuse a body without reading it all: its answer counts more than our failed write.
  const auto sent = co_await send_request(x);
  if (x.client_gone) co_return failed(fleet::Failure::reset_before_head, "the client has left");
  const auto head = co_await read_response_head(x);
  if (!head) {
    const Upstream& up = *x.upstream;
    const bool timed_out =
        head.error() == net::IoError::timed_out || (!sent && sent.error() == net::IoError::timed_out);
    if (up.reused && !up.parser.started() && !timed_out)
      co_return failed(fleet::Failure::stale_connection, "the kept connection was closed");
    co_return failed(timed_out ? fleet::Failure::timed_out : fleet::Failure::reset_before_head,
                     timed_out ? "no answer in time" : "the connection broke before the answer");
  }
  x.shared.brain.tell(fleet::FirstByte{x.id});
  const bool streams = is_event_stream(x, x.upstream->parser.head());
  x.upstream->is_stream = streams && !is_packed(x.upstream->parser.head());
  if (x.upstream->is_stream) {
    Attempt attempt = co_await hold_first_event(x);
    co_return attempt;
  }
  if (streams) {
    Attempt attempt = co_await hold_first_bytes(x);
    co_return attempt;
  }
  const int status = x.upstream->parser.head().status;
  const bool pass_as_it_comes = x.rule.api == dialect::Api::other && status != 502 && status != 503;
  if (pass_as_it_comes) co_return Attempt{std::nullopt, true, ""};
  Attempt attempt = co_await hold_body(x);
  co_return attempt;
}

}  // namespace wg::gateway
