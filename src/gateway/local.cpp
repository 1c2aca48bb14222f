// Answers that the gateway gives itself: models, health, and every refusal, in the client's dialect.
#include "dialect/error_body.h"
#include "gateway/model_cards.h"
#include "gateway/stages.h"
#include "http/header_rules.h"

namespace wg::gateway {
namespace {

constexpr std::string_view json_type = "application/json";

// An answer of our own, as it is to be written. Kept in a named variable while it is: see docs/coroutines.md.
struct Whole {
  int status = 200;
  std::string body;
  std::vector<Header> added;  // views that outlive the write
  bool keep = true;
};

net::Task<After> write_whole(Exchange& x, const Whole& whole) {
  std::vector<Header> added = whole.added;
  added.push_back({"x-request-id", x.request_id});
  std::string out;
  http::write_answer(out, whole.status, json_type, whole.body, whole.keep, added, x.head.method == "HEAD");
  x.status = whole.status;
  const std::vector<std::string_view> pieces{out};
  const auto sent = co_await send_to_client(x, pieces);
  co_return sent&& whole.keep ? After::keep : After::close;
}

// A pool without a replica up, by name; empty if all are ready.
net::Task<std::string> pool_not_ready(Exchange& x) {
  Brain& brain = x.shared.brain;
  co_await net::resume_on(brain.loop());
  std::string missing;
  for (PoolIndex p = 0; p < x.directory->pools.size(); ++p) {
    const auto& pools = x.directory->pools;
    const bool unused = pools[p].name.empty() && p > 0;  // spare places for --engine's other models
    if (!unused && brain.fleet().pool(p).replicas_up == 0)
      missing = pools[p].name.empty() ? "(not found yet)" : pools[p].name;
  }
  co_await net::resume_on(x.context.loop);
  co_return missing;
}

// What a refused path is told; nothing for the paths that exist.
Error why_not(const Exchange& x) {
  const std::string path(x.head.path());
  switch (x.rule.handling) {
    case Handling::websocket:
      return {Fault::client, "websockets are not spoken here: send the request as a POST over HTTP/1.1", 426};
    case Handling::wrong_method:
      return {Fault::client,
              std::string(x.head.method) + " is not possible on " + path + "; allowed: " + std::string(x.rule.allowed),
              405};
    case Handling::model:
      return {Fault::client,
              "there is no model \"" + std::string(x.rule.id) + "\" here; there are: " + x.directory->model_list(),
              404};
    default:
      return {Fault::client,
              "there is no path " + path + " here, or it is not forwarded (add it to `paths` to allow it)", 404};
  }
}

}  // namespace

net::Task<After> answer_locally(Exchange& x) {
  Whole whole;
  whole.keep = x.keep_alive && (!x.head.has_body() || x.body_read);
  switch (x.rule.handling) {
    case Handling::models:
      whole.body = model_cards(*x.directory, x.shape);
      break;
    case Handling::model:
      whole.body = model_card(*x.directory, x.shape, x.rule.id);
      break;
    case Handling::alive:
      whole.body = R"({"status":"ok"})";
      break;
    case Handling::ready: {
      const std::string missing = co_await pool_not_ready(x);
      if (missing.empty()) {
        whole.body = R"({"status":"ready"})";
        break;
      }
      const Error error{Fault::upstream, "no replica of pool " + missing + " is up", 503};
      const After after = co_await refuse(x, error, 1);
      co_return after;
    }
    default:
      break;
  }
  if (whole.body.empty()) {
    const Error error = why_not(x);
    const After after = co_await refuse(x, error, 0);
    co_return after;
  }
  const After after = co_await write_whole(x, whole);
  co_return after;
}

net::Task<After> refuse(Exchange& x, const Error& error, std::uint32_t retry_after_s) {
  const int status = error.status != 0 ? error.status : error.fault == Fault::client ? 400 : 503;
  x.record.error = error.what;
  if (x.committed) {
    co_await end_with_error_event(x, status, error.what, false);
    co_return After::close;
  }
  const std::string retry = std::to_string(retry_after_s);
  Whole whole;
  whole.status = status;
  whole.body = dialect::error_body(x.shape, status, error.what);
  if (retry_after_s > 0) whole.added.push_back({"Retry-After", retry});
  if (status == 405) whole.added.push_back({"Allow", x.rule.allowed});
  if (status == 426) whole.added.push_back({"Upgrade", "HTTP/1.1"});
  // After bytes that nobody read or that made no sense, the next request's start is anybody's guess.
  const bool body_was_read = !x.head.has_body() || x.body_read;
  whole.keep = x.keep_alive && body_was_read;
  const After after = co_await write_whole(x, whole);
  if (!body_was_read) co_await discard_rest(x.connection);
  co_return after;
}

net::Task<After> refuse_unparsed(Connection& c, const Error& error) {
  std::string out;
  const int status = error.status != 0 ? error.status : 400;
  http::write_answer(out, status, json_type, dialect::error_body(dialect::Shape::openai, status, error.what), false,
                     {});
  const std::vector<std::string_view> pieces{out};
  const auto sent = co_await c.stream.write(pieces, std::chrono::seconds(5));
  if (sent) co_await discard_rest(c);
  co_return After::close;
}

}  // namespace wg::gateway
