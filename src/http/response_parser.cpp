#include "http/body_reader.h"
#include "http/bytes.h"
#include "http/framing.h"
#include "http/h1.h"
#include "http/head_reader.h"

namespace wg::http {

namespace {

// More interim answers than this before the real one is a fault, not a courtesy.
constexpr int interim_limit = 16;

// HTTP/1.x SP three digits [SP reason].
Checked<void> read_status_line(std::string_view line, ResponseHead& head) {
  if (line.size() < 12 || !(line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ")) ||
      (line.size() > 12 && line[12] != ' '))
    return refuse(502, "the status line is not `HTTP/1.1 200 OK`: " + printable(line));
  const auto status = parse_decimal(line.substr(9, 3));
  if (!status || *status < 100 || *status > 599) return refuse(502, "no HTTP status: " + printable(line.substr(9, 3)));
  head.minor = line[7] - '0';
  head.status = static_cast<int>(*status);
  head.reason = line.size() > 12 ? trim(line.substr(13)) : std::string_view{};
  return {};
}

}  // namespace

struct ResponseParser::State {
  explicit State(const Limits& limits) : reader(HTTP_RESPONSE, limits) {}

  HeadReader reader;
  BodyReader body_reader;
  ResponseHead head;
  bool answer_to_head = false;
  bool head_complete = false;
  int interim = 0;  // 1xx answers so far
  std::optional<Refusal> dead;

  Checked<Progress> feed(std::string_view in, std::vector<std::string_view>& body);
  Checked<void> read_head();
  void begin_body();
  void forget_head();
};

// RFC 9112 6.3, in its order.
void ResponseParser::State::begin_body() {
  if (head.status == 204 || head.status == 304) {
    // A body announced here will come or not: nobody can tell, so the connection ends with this answer.
    if (head.status == 204 && head.content_length.value_or(0) > 0) head.keep_alive = false;
    if (head.chunked) head.keep_alive = false;
    if (head.status == 204) head.content_length.reset();
    head.chunked = false;
    body_reader.begin_none();
  } else if (answer_to_head) {
    body_reader.begin_none();
  } else if (head.chunked) {
    body_reader.begin_chunked(BodyReader::no_limit);
  } else if (head.content_length) {
    body_reader.begin_length(*head.content_length);
  } else {
    head.until_close = true;
    head.keep_alive = false;
    body_reader.begin_until_close();
  }
}

Checked<void> ResponseParser::State::read_head() {
  return reader.split(head.headers)
      .and_then([&] { return read_status_line({reader.start_line(), reader.start_line_size()}, head); })
      .and_then([&] { return read_framing(head.headers, head.minor); })
      .and_then([&](const Framing& framing) -> Checked<void> {
        head.content_length = framing.content_length;
        head.chunked = framing.chunked;
        head.keep_alive = framing.keep_alive;
        if (head.status == 101) return refuse(502, "status 101: nobody asked for another protocol");
        if (head.status < 200 && ++interim > interim_limit) return refuse(502, "too many 1xx answers");
        return {};
      });
}

Checked<Progress> ResponseParser::State::feed(std::string_view in, std::vector<std::string_view>& body) {
  Progress progress;
  while (!head_complete) {
    auto used = reader.feed(in.substr(progress.consumed));
    if (!used) return tl::unexpected<Refusal>(std::move(used.error()));
    progress.consumed += *used;
    if (!reader.ended()) return progress;
    if (auto ok = read_head(); !ok) return tl::unexpected<Refusal>(std::move(ok.error()));
    if (head.status < 200) {
      forget_head();
      continue;
    }
    begin_body();
    progress.head_complete = head_complete = true;
    progress.complete = body_reader.ended();
    return progress;
  }
  return body_reader.proceed(in, body);
}

void ResponseParser::State::forget_head() {
  reader.reset();
  forget(head);
}

ResponseParser::ResponseParser(const Limits& limits) : state_(std::make_unique<State>(limits)) {}
ResponseParser::~ResponseParser() = default;
ResponseParser::ResponseParser(ResponseParser&&) noexcept = default;

Result<Progress> ResponseParser::feed(std::string_view in, std::vector<std::string_view>& body) {
  if (!state_->dead) {
    auto progress = state_->feed(in, body);
    if (progress) return *progress;
    state_->dead = std::move(progress.error());
  }
  return fail(Fault::upstream, "the engine's answer is malformed: " + state_->dead->what, 502);
}

bool ResponseParser::finish() {
  if (state_->dead || !state_->head_complete) return false;
  if (state_->body_reader.until_close()) state_->body_reader.begin_none();
  return state_->body_reader.ended();
}

const ResponseHead& ResponseParser::head() const { return state_->head; }
bool ResponseParser::started() const { return state_->reader.started() || state_->interim > 0; }

void ResponseParser::reset(bool answer_to_head) {
  state_->forget_head();
  state_->body_reader.begin_none();
  state_->answer_to_head = answer_to_head;
  state_->head_complete = false;
  state_->interim = 0;
}

std::string_view chunk_begin(std::size_t size, char (&buffer)[24]) {
  constexpr char digits[] = "0123456789abcdef";
  char* end = buffer + 24;
  char* at = end;
  *--at = '\n';
  *--at = '\r';
  do *--at = digits[size & 15];
  while (size >>= 4);
  return {at, static_cast<std::size_t>(end - at)};
}

}  // namespace wg::http
