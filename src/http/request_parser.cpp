#include <algorithm>

#include "http/body_reader.h"
#include "http/bytes.h"
#include "http/framing.h"
#include "http/h1.h"
#include "http/head_reader.h"

namespace wg::http {

namespace {

constexpr bool is_host_byte(char c) {
  return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') ||
         std::string_view("-._~%!$&'()*+,;=:[]").find(c) != std::string_view::npos;
}

bool is_host(std::string_view host) {
  for (const char c : host)
    if (!is_host_byte(c)) return false;
  return true;
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// METHOD SP target SP HTTP/1.x with exactly these spaces.
Checked<void> read_request_line(std::string_view line, RequestHead& head) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || !is_token(line.substr(0, first)))
    return refuse(400, "the request line is not `METHOD target HTTP/1.1`");
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!version.starts_with("HTTP/")) return refuse(400, "the protocol is not HTTP");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  head.minor = version.back() - '0';
  if (head.method == "CONNECT") return refuse(400, "CONNECT: this is no forward proxy");
  if (head.target.empty()) return refuse(400, "the request target is empty");
  for (const char c : head.target)
    if (c <= 0x20 || c >= 0x7f || c == '#')
      return refuse(400, "the request target holds byte " + std::to_string(static_cast<unsigned char>(c)) +
                             ", which must be percent-encoded");
  return {};
}

// `http://host/path?query` becomes `/path?query` (RFC 9112 3.2.2 wants it taken); its host must be Host's, so that no
// two readers can disagree about where the request goes. `line` is the parser's own: a missing `/` is written into it.
Checked<void> reduce_target(char* line, const Framing& framing, RequestHead& head) {
  std::string_view& target = head.target;
  if (target.front() == '/') return {};
  if (target == "*" && head.method == "OPTIONS") return {};
  std::string_view rest = target;
  if (starts_with_ignoring_case(rest, "http://"))
    rest.remove_prefix(7);
  else if (starts_with_ignoring_case(rest, "https://"))
    rest.remove_prefix(8);
  else
    return refuse(400, "the request target begins neither with / nor with http://");
  const std::size_t host_end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view host = rest.substr(0, host_end);
  if (host.empty() || !is_host(host)) return refuse(400, "the request target's host is malformed");
  if (framing.hosts > 0 && !equals_ignoring_case(host, framing.host))
    return refuse(400, "the request target's host is not the Host header's");
  target = rest.substr(host_end);
  if (target.starts_with('/')) return {};
  if (target.empty()) {
    target = "/";
    return {};
  }
  const std::size_t slash = static_cast<std::size_t>(target.data() - line) - 1;
  line[slash] = '/';
  target = std::string_view(line + slash, target.size() + 1);
  return {};
}

Checked<void> check_host(const Framing& framing, int minor) {
  if (framing.hosts > 1) return refuse(400, "more than one Host header");
  if (framing.hosts == 0 && minor > 0) return refuse(400, "no Host header");
  if (!is_host(framing.host)) return refuse(400, "the Host header is malformed: " + printable(framing.host));
  return {};
}

}  // namespace

std::string_view RequestHead::query() const {
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view{} : target.substr(mark);
}

struct RequestParser::State {
  explicit State(const Limits& l) : limits(l), reader(HTTP_REQUEST, l) {}

  Limits limits;
  HeadReader reader;
  BodyReader body_reader;
  RequestHead head;
  std::size_t blank = 0;  // bytes of a CRLF before the request line, which one client in old books sends
  std::optional<Refusal> dead;

  Checked<Progress> feed(std::string_view in, std::vector<std::string_view>& body);
  Checked<std::size_t> skip_blank_line(std::string_view in);
  Checked<void> read_head();
  void reset();
};

Checked<std::size_t> RequestParser::State::skip_blank_line(std::string_view in) {
  std::size_t used = 0;
  if (reader.started()) return used;
  if (blank == 0 && in.starts_with('\r')) blank = 1, used = 1;
  if (blank == 1 && used < in.size()) {
    if (in[used] != '\n') return refuse(400, "a CR without LF before the request line");
    blank = 2, ++used;
  }
  return used;
}

Checked<void> RequestParser::State::read_head() {
  return reader.split(head.headers)
      .and_then([&] { return read_request_line({reader.start_line(), reader.start_line_size()}, head); })
      .and_then([&] { return read_framing(head.headers, head.minor); })
      .and_then([&](const Framing& framing) -> Checked<void> {
        if (auto ok = check_host(framing, head.minor); !ok) return ok;
        if (auto ok = reduce_target(reader.start_line(), framing, head); !ok) return ok;
        head.content_length = framing.content_length;
        head.chunked = framing.chunked;
        head.keep_alive = framing.keep_alive;
        head.upgrade = framing.upgrade;
        head.expects_continue = framing.expects_continue && head.has_body();
        if (head.content_length.value_or(0) > limits.body_bytes)
          return refuse(413, "the body is longer than " + std::to_string(limits.body_bytes) + " bytes");
        head.chunked ? body_reader.begin_chunked(limits.body_bytes)
                     : body_reader.begin_length(head.content_length.value_or(0));
        return {};
      });
}

Checked<Progress> RequestParser::State::feed(std::string_view in, std::vector<std::string_view>& body) {
  Progress progress;
  if (!reader.ended()) {
    auto skipped = skip_blank_line(in);
    if (!skipped) return tl::unexpected<Refusal>(std::move(skipped.error()));
    auto used = reader.feed(in.substr(*skipped));
    if (!used) return tl::unexpected<Refusal>(std::move(used.error()));
    progress.consumed = *skipped + *used;
    if (!reader.ended()) return progress;
    if (auto ok = read_head(); !ok) return tl::unexpected<Refusal>(std::move(ok.error()));
    progress.head_complete = true;
    progress.complete = body_reader.ended();
    return progress;
  }
  return body_reader.proceed(in, body);
}

void RequestParser::State::reset() {
  reader.reset();
  body_reader.begin_none();
  forget(head);
  blank = 0;
}

RequestParser::RequestParser(const Limits& limits) : state_(std::make_unique<State>(limits)) {}
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;

Result<Progress> RequestParser::feed(std::string_view in, std::vector<std::string_view>& body) {
  if (!state_->dead) {
    auto progress = state_->feed(in, body);
    if (progress) return *progress;
    state_->dead = std::move(progress.error());
  }
  return fail(Fault::client, state_->dead->what, state_->dead->status);
}

const RequestHead& RequestParser::head() const { return state_->head; }
bool RequestParser::started() const { return state_->reader.started(); }
void RequestParser::reset() { state_->reset(); }

}  // namespace wg::http
