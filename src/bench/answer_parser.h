// One answer as a client sees it: from bytes to what is measured. Sans I/O; times are handed in. One parser a
// connection, one answer at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/text.h"
#include "core/units.h"
#include "dialect/answer.h"
#include "http/h1.h"
#include "http/sse.h"

namespace wg::bench {

struct Answer {
  std::string failure;     // one sentence; empty: a whole answer, good to its end
  std::string kind;        // ... of it: two or three words, the same for all alike
  bool cancelled = false;  // by ourselves: neither an answer nor a failure
  int status = 0;
  std::optional<TimePoint> first_content;
  TimePoint ended;
  dialect::Usage usage;
  std::string text;        // escaped as in JSON
  ToolCall tool;           // if it called one
  std::string place;       // the replica that answered, as far as headers tell; else empty
  std::string route;       // x-warmgate-route
  bool simulated = false;  // `warmgate replica` answered
  Duration waited{};       // in the gateway, before the engine got it
};

class AnswerParser {
 public:
  explicit AnswerParser(dialect::Api api) : api_(api), parser_(http::answer_limits) {}

  void begin();  // before each answer
  // The next bytes of the connection. True: the answer is over, see answer().
  bool feed(std::string_view bytes, TimePoint now);
  void closed(TimePoint now);  // the peer closed
  // Reading or writing failed. `kind`: what such failures are counted under.
  void broken(std::string kind, std::string failure, TimePoint now);
  bool started() const { return parser_.started(); }
  bool connection_lives() const { return connection_lives_; }
  Answer& answer() { return answer_; }

 private:
  void on_head();
  void on_body(std::string_view bytes, TimePoint now);
  void on_event(std::string_view event, TimePoint now);
  void finish(TimePoint now);
  void fail(std::string kind, std::string failure);

  dialect::Api api_;
  http::ResponseParser parser_;
  http::SseScanner scanner_;
  std::optional<dialect::AnswerReader> reader_;
  Answer answer_;
  std::string pending_;  // an event of which the end is missing; or the body of an answer that is no stream
  std::vector<std::string_view> spans_;
  bool is_stream_ = false, ended_well_ = false, connection_lives_ = false;
};

}  // namespace wg::bench
