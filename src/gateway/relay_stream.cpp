// Stage 6 for SSE: events go out as they came, one read one write, whole, so that an error event can always be put
// behind the last one. Each is looked at once, in passing; nothing is allocated for an event that carries only text.
#include "gateway/stages.h"
#include "http/header_rules.h"

namespace wg::gateway {
namespace {

constexpr std::size_t whole_event_limit = 64 * 1024;

// The part of a stream that is here and not yet sent: whole events, and the beginning of the next one.
struct Window {
  explicit Window(Bytes& its_bytes) : bytes(its_bytes) {}

  Bytes& bytes;
  std::size_t looked_at = 0;  // scanned for the ends of events
  std::size_t ready = 0;      // up to here it may go out
  bool mid_event = false;     // what is out ends within an (overlong) event
  bool aborted = false;       // an event said "abort": neither it nor what follows goes out
  bool died = false;          // an event said that the engine is dying: it goes out, what follows does not
  std::vector<std::string_view> out;

  void add(std::size_t from, std::size_t to) {
    // Neighbours go out as one piece.
    const std::string_view piece = bytes.view().substr(from, to - from);
    if (!out.empty() && out.back().data() + out.back().size() == piece.data())
      out.back() = {out.back().data(), out.back().size() + piece.size()};
    else
      out.push_back(piece);
  }
  void sent() {
    bytes.drop_front(ready);
    looked_at -= ready;
    ready = 0;
    out.clear();
  }
};

enum class For { client, nobody, abort, client_and_end };

For look_at(Exchange& x, std::string_view text) {
  const dialect::Event event = x.reader.on_event(text);
  if (event.kind == dialect::EventKind::content && !x.first_content) {
    x.first_content = x.context.loop.now();
    x.shared.brain.tell(fleet::FirstContent{x.id});
  }
  if (event.kind == dialect::EventKind::error && x.record.error.empty())
    x.record.error = "the engine sent an error event";
  x.saw_last_event = x.saw_last_event || event.ends || event.kind == dialect::EventKind::error ||
                     x.reader.facts().stop != dialect::Stop::none;
  if (!x.response_told && !x.reader.facts().response_id.empty()) {
    x.response_told = true;
    x.shared.brain.tell(fleet::ResponseMade{x.id, response_key(x.reader.facts().response_id)});
  }
  if (event.kind == dialect::EventKind::abort) return For::abort;
  if (event.kind == dialect::EventKind::error && event.engine_dead) return For::client_and_end;
  return event.kind == dialect::EventKind::usage && x.added_include_usage ? For::nobody : For::client;
}

void cut_events(Exchange& x, Window& w) {
  for (;;) {
    const std::size_t size = x.scanner.next_end(w.bytes.view(w.looked_at));
    if (size == http::SseScanner::npos) break;
    const std::size_t begin = w.ready, end = w.looked_at + size;
    w.looked_at = end;
    // Of an overlong event the beginning is out already: its end has to follow, whatever it says.
    const bool overlong = std::exchange(w.mid_event, false);
    const For whom = overlong ? For::client : look_at(x, w.bytes.view().substr(begin, end - begin));
    if (overlong) x.saw_last_event = true;  // it may have been: the Responses API's holds the whole answer
    if (whom == For::abort) {
      w.aborted = true;
      return;
    }
    if (whom != For::nobody) w.add(begin, end);
    w.ready = end;
    if (whom == For::client_and_end) {
      w.died = true;
      return;
    }
  }
  w.looked_at = w.bytes.size();
  const bool rest_of_all = x.upstream->complete && w.ready < w.bytes.size();
  if (w.bytes.size() - w.ready > whole_event_limit || rest_of_all) {
    if (rest_of_all && !w.mid_event) look_at(x, w.bytes.view(w.ready));  // the last event, without its blank line
    w.add(w.ready, w.bytes.size());
    w.ready = w.bytes.size();
    w.mid_event = true;
  }
}

}  // namespace

net::Task<fleet::Outcome> relay_stream(Exchange& x) {
  Upstream& up = *x.upstream;
  std::string head;
  if (!x.committed) head = response_head(x, std::nullopt);
  Window window(up.held);
  std::vector<std::string_view> pieces, spans;
  char chunk[24];
  for (;;) {
    cut_events(x, window);
    std::size_t size = 0;
    for (const std::string_view piece : window.out) size += piece.size();
    pieces.clear();
    if (!head.empty()) pieces.push_back(head);
    if (size > 0 && x.chunked) pieces.push_back(http::chunk_begin(size, chunk));
    pieces.insert(pieces.end(), window.out.begin(), window.out.end());
    if (size > 0 && x.chunked) pieces.push_back(http::chunk_end);
    const bool unfinished = up.complete && !x.saw_last_event;
    const bool ends = up.complete && !window.aborted && !window.died && !unfinished;
    if (ends && x.chunked) pieces.push_back(http::last_chunk);
    if (!pieces.empty()) {
      const auto sent = co_await send_to_client(x, pieces);
      if (!sent) co_return fleet::Outcome::client_gone;
      head.clear();
    }
    if (ends) co_return fleet::Outcome::ok;
    if (window.aborted) {
      co_await end_with_error_event(x, 502, "the engine aborted the answer: send the request again", window.mid_event);
      co_return fleet::Outcome::engine_aborted;
    }
    if (window.died) {
      break_off(x);
      co_return fleet::Outcome::engine_aborted;
    }
    if (unfinished) {
      // An end that framing calls clean, or that only a closed connection says: clients would take it for the answer's.
      co_await end_with_error_event(x, 502, "the engine ended in the middle of the answer: send the request again",
                                    window.mid_event);
      co_return up.parser.head().until_close ? fleet::Outcome::died_mid_stream : fleet::Outcome::failed;
    }
    window.sent();
    if (x.signs) x.signs->postpone(!window.mid_event);

    const auto more = co_await read_response_body(x, spans, x.shared.config.timeouts.stream_idle);
    if (x.client_gone) co_return fleet::Outcome::client_gone;
    if (!more) {
      const bool silent = more.error() == net::IoError::timed_out;
      co_await end_with_error_event(x, silent ? 504 : 502,
                                    silent
                                        ? "the engine fell silent in the middle of the answer: send the request again"
                                        : "the engine broke off in the middle of the answer: send the request again",
                                    window.mid_event);
      co_return silent ? fleet::Outcome::failed : fleet::Outcome::died_mid_stream;
    }
    for (const std::string_view span : spans) up.held.append(span);
  }
}

}  // namespace wg::gateway
