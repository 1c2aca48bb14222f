// One client connection: reads requests one after the other and finds who answers them.
#include <array>
#include <ctime>

#include "core/header.h"
#include "dialect/api.h"
#include "http/header_rules.h"
#include "replica/site.h"

namespace wg::replica {
namespace {

// uvicorn's: an idle connection is closed so long after an answer. Real time, like all sockets.
constexpr Duration keep_alive = std::chrono::seconds(5);
constexpr Duration first_request = std::chrono::seconds(60), write_timeout = std::chrono::seconds(600);
constexpr std::size_t idle_block = 2 * 1024, body_block = 64 * 1024;

enum class Read : std::uint8_t { request, closed, broken };

net::Task<Read> read_request(Connection& me, Duration idle) {
  std::vector<std::string_view> spans;
  me.body.clear();
  for (;;) {
    while (!me.input.empty()) {
      spans.clear();
      const auto progress = me.parser.feed(me.input.view(), spans);
      if (!progress) co_return Read::broken;
      for (const std::string_view span : spans) me.body.append(span);
      me.input.drop_front(progress->consumed);
      if (progress->complete) co_return Read::request;
      if (progress->head_complete && me.parser.head().expects_continue)
        me.stream.write_now("HTTP/1.1 100 Continue\r\n\r\n");
      if (progress->consumed == 0 && !progress->head_complete) break;
    }
    const bool has_begun = me.parser.started();
    const std::span<char> room = me.input.room(has_begun ? body_block : idle_block);
    const auto size = co_await me.stream.read_some(room, has_begun ? first_request : idle);
    if (!size || *size == 0 || me.gone) co_return Read::closed;
    me.input.grown(*size);
  }
}

bool is_guarded(std::string_view path) {
  return path.starts_with("/v1/") || path.starts_with("/v2/") || path.starts_with("/inference/");
}

bool is_unauthorized(const Site& site, const http::RequestHead& head) {
  return !site.options.api_key.empty() && is_guarded(head.path()) && head.method != "OPTIONS" &&
         find_header(head.headers, "authorization") != "Bearer " + site.options.api_key;
}

// The API whose requests go to the engine.
std::optional<dialect::Api> engine_api(const http::RequestHead& head) {
  if (head.method != "POST") return std::nullopt;
  for (const auto& [path, api] : {std::pair<std::string_view, dialect::Api>{"/v1/chat/completions", dialect::Api::chat},
                                  {"/v1/completions", dialect::Api::completions},
                                  {"/v1/messages", dialect::Api::messages},
                                  {"/v1/responses", dialect::Api::responses}})
    if (head.path() == path) return api;
  return std::nullopt;
}

// Takes a connection from the list of those that a fault can cut.
struct Registration {
  Registration(Site& its_site, Connection& connection)
      : site(its_site), place(site.connections.insert(site.connections.end(), &connection)) {}
  ~Registration() { site.connections.erase(place); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  Site& site;
  std::list<Connection*>::iterator place;
};

}  // namespace

std::int64_t unix_seconds() { return std::time(nullptr); }

std::string head_of(const Reply& reply, std::optional<std::size_t> content_length, bool keep_alive_after) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char date[64];
  std::strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " " + std::string(http::reason_phrase(reply.status)) +
                    "\r\ndate: " + date + "\r\nserver: uvicorn\r\n";
  if (content_length) out += "content-length: " + std::to_string(*content_length) + "\r\n";
  if (!reply.type.empty()) out += "content-type: " + reply.type + "\r\n";
  for (const auto& [name, value] : reply.headers) out += name + ": " + value + "\r\n";
  if (!content_length) out += "transfer-encoding: chunked\r\n";
  if (!keep_alive_after) out += "connection: close\r\n";
  return out += "\r\n";
}

void count_request(Site& site, const Connection& me, int status) {
  const http::RequestHead& head = me.parser.head();
  ++site.http_requests[{std::string(head.path()), std::string(head.method)}][std::to_string(status / 100) + "xx"];
}

net::Task<bool> write_reply(Site& site, Connection& me, const Reply& reply) {
  const http::RequestHead& head = me.parser.head();
  const bool keep = head.keep_alive && site.life != Life::down;
  count_request(site, me, reply.status);
  const std::string bytes = head_of(reply, reply.body.size(), keep);
  const std::array<std::string_view, 2> pieces{bytes, head.method == "HEAD" ? std::string_view() : reply.body};
  const auto sent = co_await me.stream.write(pieces, write_timeout);
  co_return sent.has_value() && keep;
}

net::Task<void> serve(std::shared_ptr<Site> site, net::Stream accepted) {
  Connection me(std::move(accepted));
  const Registration registration(*site, me);
  Duration idle = first_request;
  for (bool keep = true; keep && !me.gone;) {
    const Read read = co_await read_request(me, idle);
    if (read == Read::closed || me.gone) co_return;
    if (read == Read::broken) {
      static constexpr std::string_view answer =
          "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n"
          "Invalid HTTP request received.";
      me.stream.write_now(answer);
      co_return;
    }
    if (me.input.empty()) me.input.release();  // thousands may wait for their answers
    const auto api = engine_api(me.parser.head());
    if (is_unauthorized(*site, me.parser.head())) {
      const Reply reply{401, "application/json", R"({"error":"Unauthorized"})", {}};
      keep = co_await write_reply(*site, me, reply);
    } else if (api) {
      keep = co_await generate(*site, me, *api);
    } else {
      const Reply reply = local_answer(*site, me);
      keep = co_await write_reply(*site, me, reply);
    }
    me.is_admin = false;
    me.body = {};
    me.parser.reset();
    idle = keep_alive;
  }
}

}  // namespace wg::replica
