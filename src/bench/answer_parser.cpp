#include "bench/answer_parser.h"

#include <charconv>

#include "bench/text.h"
#include "dialect/error_body.h"

namespace wg::bench {
namespace {

constexpr std::size_t body_limit = 1 << 20;  // of an answer that is no stream: an error's text

// Server-Timing: wait;dur=12.3, engine;dur=...
Duration wait_of(std::string_view server_timing) {
  constexpr std::string_view label = "wait;dur=";
  const auto at = server_timing.find(label);
  double milliseconds = 0;
  if (at != server_timing.npos)
    std::from_chars(server_timing.data() + at + label.size(), server_timing.data() + server_timing.size(),
                    milliseconds);
  return from_seconds(milliseconds / 1000);
}

std::string excerpt(std::string_view text) {
  std::string out(text.substr(0, 160));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return out;
}

}  // namespace

void AnswerParser::begin() {
  parser_.reset(false);
  scanner_ = {};
  reader_.emplace(api_);
  answer_ = {};
  pending_.clear();
  is_stream_ = ended_well_ = connection_lives_ = false;
}

bool AnswerParser::feed(std::string_view bytes, TimePoint now) {
  while (!bytes.empty()) {
    spans_.clear();
    const auto progress = parser_.feed(bytes, spans_);
    if (!progress) {
      broken("no HTTP", progress.error().what, now);
      return true;
    }
    if (progress->head_complete) on_head();
    for (const std::string_view span : spans_) on_body(span, now);
    bytes.remove_prefix(progress->consumed);
    if (!progress->complete) continue;
    connection_lives_ = parser_.head().keep_alive && bytes.empty();
    finish(now);
    return true;
  }
  return false;
}

void AnswerParser::on_head() {
  const http::ResponseHead& head = parser_.head();
  answer_.status = head.status;
  is_stream_ = head.status == 200 && find_header(head.headers, "content-type").starts_with("text/event-stream");
  // A simulated replica names its rank itself, also where the gateway left the choice to the engine.
  const std::string_view named_itself = find_header(head.headers, "x-replica");
  answer_.place = named_itself.empty() ? find_header(head.headers, "x-warmgate-replica") : named_itself;
  // A head that went out while its request still waited.
  if (answer_.place == "-") answer_.place.clear();
  answer_.simulated = !find_header(head.headers, "x-prompt-hash").empty();
  answer_.route = find_header(head.headers, "x-warmgate-route");
  answer_.waited = wait_of(find_header(head.headers, "server-timing"));
}

void AnswerParser::on_body(std::string_view bytes, TimePoint now) {
  if (!is_stream_) {
    pending_.append(bytes.substr(0, body_limit - std::min(body_limit, pending_.size())));
    return;
  }
  for (auto end = scanner_.next_end(bytes); end != http::SseScanner::npos; end = scanner_.next_end(bytes)) {
    if (pending_.empty()) {
      on_event(bytes.substr(0, end), now);
    } else {
      pending_.append(bytes.substr(0, end));
      on_event(pending_, now);
      pending_.clear();
    }
    bytes.remove_prefix(end);
  }
  pending_.append(bytes);
}

void AnswerParser::on_event(std::string_view event, TimePoint now) {
  const dialect::Event seen = reader_->on_event(event);
  switch (seen.kind) {
    case dialect::EventKind::content:
      if (!answer_.first_content) answer_.first_content = now;
      answer_.text.append(escaped_text_of(event, api_));
      add_tool_piece(answer_.tool, event, api_);
      break;
    case dialect::EventKind::error:
      fail("error in the stream", "an error in the stream: " + excerpt(event));
      break;
    case dialect::EventKind::abort:
      fail("aborted", "the engine aborted");
      break;
    case dialect::EventKind::opening:  // Anthropic's tool calls begin before their first content
      add_tool_piece(answer_.tool, event, api_);
      break;
    default:
      break;
  }
  if (seen.ends) ended_well_ = true;
}

void AnswerParser::finish(TimePoint now) {
  answer_.ended = now;
  answer_.usage = reader_->facts().usage;
  if (!answer_.failure.empty()) return;
  if (answer_.status != 200) {
    const std::string said = dialect::error_message(pending_);
    const std::string status = "status " + std::to_string(answer_.status);
    fail(status, status + ": " + excerpt(said.empty() ? pending_ : said));
  } else if (!is_stream_) {
    fail("no stream", "the answer is no stream: " + excerpt(pending_));
  } else if (!ended_well_) {
    fail("cut short", "the stream ended without its last event");
  }
}

void AnswerParser::closed(TimePoint now) {
  if (parser_.finish()) return finish(now);
  broken("closed", started() ? "the connection was closed in the middle of the answer" : "the connection was closed",
         now);
}

void AnswerParser::fail(std::string kind, std::string failure) {
  answer_.kind = std::move(kind);
  answer_.failure = std::move(failure);
}

void AnswerParser::broken(std::string kind, std::string failure, TimePoint now) {
  fail(std::move(kind), std::move(failure));
  answer_.ended = now;
  answer_.usage = reader_->facts().usage;
}

}  // namespace wg::bench
