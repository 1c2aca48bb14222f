// Stage 6: the answer to the client, as it came: heads, bodies that are not streams, and the ends of broken streams.
#include <array>

#include "dialect/error_body.h"
#include "gateway/stages.h"
#include "http/header_rules.h"

namespace wg::gateway {
namespace {

// As 12.3: printf would take longer than the rest of the head.
void append_millis(std::string& out, Duration d) {
  const auto tenths = std::max<Duration::rep>(d.count(), 0) / 100;
  out.append(std::to_string(tenths / 10)).append(1, '.').append(1, static_cast<char>('0' + tenths % 10));
}

// The fields that we add; views into the exchange and into `texts`.
struct AddedFields {
  explicit AddedFields(const Exchange& x) {
    session = x.session.key ? x.session.key.short_hex() : "-";
    const TimePoint now = x.context.loop.now();
    const bool waits = x.undecided;  // for a seat, the first time or after an attempt came to nothing
    server_timing = "wait;dur=";
    append_millis(server_timing, (waits ? now : x.dispatched) - x.arrived);
    if (!waits) {
      server_timing += ", engine;dur=";
      append_millis(server_timing, now - x.dispatched);
    }
    fields = {{"x-warmgate-replica", waits ? std::string_view("-") : std::string_view(x.replica().id)},
              {"x-warmgate-route", policy::name_of(waits ? policy::Route::waiting : x.dispatch.route)},
              {"x-warmgate-session", session},
              {"Server-Timing", server_timing}};
    const bool engine_named_it = x.upstream && x.upstream->parser.started() &&
                                 !find_header(x.upstream->parser.head().headers, "x-request-id").empty();
    if (!engine_named_it) fields.push_back({"x-request-id", x.request_id});
  }
  std::string session, server_timing;
  std::vector<Header> fields;
};

net::Task<fleet::Outcome> client_left(Exchange& x) {
  x.client_gone = true;
  co_return fleet::Outcome::client_gone;
}

// An answer that came whole, or of a kind that we do not look into, while its client waited with open headers.
net::Task<fleet::Outcome> answer_as_event(Exchange& x) {
  const int status = x.upstream->parser.head().status;
  std::string message = dialect::error_message(x.upstream->held.view());
  if (message.empty()) message = "the engine answered with status " + std::to_string(status) + " and no stream";
  x.status = status;
  co_await end_with_error_event(x, status >= 400 ? status : 502, message, false);
  co_return fleet::Outcome::ok;
}

}  // namespace

net::Task<net::IoResult<void>> send_to_client(Exchange& x, const std::vector<std::string_view>& pieces) {
  if (x.signs) x.signs->hold();
  const auto sent = co_await x.connection.stream.write(pieces, x.shared.config.timeouts.stream_idle);
  if (sent)
    for (const std::string_view piece : pieces) x.bytes_out += piece.size();
  co_return sent;
}

std::string response_head(Exchange& x, std::optional<std::uint64_t> content_length) {
  const http::ResponseHead& engine = x.upstream->parser.head();
  AddedFields added(x);
  if (x.upstream->is_stream) added.fields.push_back({"X-Accel-Buffering", "no"});
  if (x.shared.draining) x.keep_alive = false;
  x.status = engine.status;
  const bool is_head = x.head.method == "HEAD";
  const bool has_body = engine.status != 204 && engine.status != 304 && !is_head;
  if (is_head)
    content_length = engine.content_length;
  else if (!has_body)
    content_length.reset();
  x.chunked = has_body && !content_length && x.head.minor >= 1;
  if (has_body && !content_length && !x.chunked) x.keep_alive = false;
  std::string out;
  out.reserve(1024);
  http::write_response_head(out, engine, {x.head.minor, x.keep_alive, x.chunked, content_length, added.fields});
  x.committed = true;
  return out;
}

std::string stream_head_of_our_own(Exchange& x) {
  http::ResponseHead own;
  own.status = 200;
  own.reason = "OK";
  own.headers = {{"Content-Type", "text/event-stream; charset=utf-8"}, {"Cache-Control", "no-cache"}};
  AddedFields added(x);
  added.fields.push_back({"X-Accel-Buffering", "no"});
  x.status = 200;
  x.chunked = x.head.minor >= 1;
  if (!x.chunked) x.keep_alive = false;
  std::string out;
  http::write_response_head(out, own, {x.head.minor, x.keep_alive, x.chunked, std::nullopt, added.fields});
  x.committed = true;
  return out;
}

net::Task<void> end_with_error_event(Exchange& x, int status, std::string_view message, bool mid_event) {
  const std::string event = dialect::error_event(x.rule.api, status, message, mid_event);
  x.record.error = message;
  x.keep_alive = false;
  char buffer[24];
  std::vector<std::string_view> pieces;
  if (x.chunked)
    pieces = {http::chunk_begin(event.size(), buffer), event, http::chunk_end};
  else
    pieces = {event};
  co_await send_to_client(x, pieces);
  break_off(x);
}

void break_off(Exchange& x) {
  x.keep_alive = false;
  // No last chunk: the client must not take this for a complete answer. Without chunks only a reset says so.
  if (x.chunked)
    x.connection.stream.close();
  else
    x.connection.stream.reset();
}

net::Task<fleet::Outcome> relay(Exchange& x) {
  Upstream& up = *x.upstream;
  if (up.is_stream) {
    const fleet::Outcome outcome = co_await relay_stream(x);
    co_return outcome;
  }
  if (x.committed) {
    const fleet::Outcome outcome = co_await answer_as_event(x);
    co_return outcome;
  }
  const auto length = up.complete ? std::optional<std::uint64_t>(up.held.size()) : up.parser.head().content_length;
  const std::string head = response_head(x, length);
  std::vector<std::string_view> pieces{head, up.held.view()}, spans;
  char chunk[24];
  if (x.chunked && !up.held.empty())
    pieces = {head, http::chunk_begin(up.held.size(), chunk), up.held.view(), http::chunk_end};
  auto sent = co_await send_to_client(x, pieces);
  while (sent && !up.complete) {
    const auto more = co_await read_response_body(x, spans, x.shared.config.timeouts.stream_idle);
    if (!more) {
      if (x.client_gone) co_return fleet::Outcome::client_gone;
      x.record.error = "the engine's answer broke off";
      break_off(x);
      co_return fleet::Outcome::died_mid_stream;
    }
    std::size_t size = 0;
    for (const std::string_view span : spans) size += span.size();
    pieces.assign(spans.begin(), spans.end());
    if (x.chunked && size > 0) {
      pieces.insert(pieces.begin(), http::chunk_begin(size, chunk));
      pieces.push_back(http::chunk_end);
    }
    if (!pieces.empty()) sent = co_await send_to_client(x, pieces);
  }
  if (sent && x.chunked) {
    const std::vector<std::string_view> end{http::last_chunk};
    sent = co_await send_to_client(x, end);
  }
  if (!sent) {
    const fleet::Outcome outcome = co_await client_left(x);
    co_return outcome;
  }
  co_return fleet::Outcome::ok;
}

}  // namespace wg::gateway
