// Answers that the gateway gives itself: models, health, and every refusal, in the client's dialect.
#include "dialect/error_body.h"
#include "gateway/model_cards.h"
#include "gateway/stages.h"
#include "http/header_rules.h"

namespace wg::gateway {
namespace {

constexpr std::string_view json_type = "application/json";

// `added`'s views must outlive the call; the answer is written before it returns to the caller.
net::Task<After> write_whole(Exchange& x, int status, std::string_view type, std::string body,
                             std::vector<Header> added, bool keep) {
  std::string out;
  added.push_back({"x-request-id", x.request_id});
  http::write_answer(out, status, type, body, keep, added, x.head.method == "HEAD");
  x.status = status;
  x.bytes_out += out.size();
  const std::vector<std::string_view> pieces{out};
  const auto sent = co_await send_to_client(x, pieces);
  co_return sent&& keep ? After::keep : After::close;
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

}  // namespace

net::Task<After> answer_locally(Exchange& x) {
  switch (x.rule.handling) {
    case Handling::models: {
      const After after = co_await write_whole(x, 200, json_type, model_cards(*x.directory, x.shape), {}, x.keep_alive);
      co_return after;
    }
    case Handling::model: {
      std::string body = model_card(*x.directory, x.shape, x.rule.id);
      if (body.empty()) {
        const After after = co_await refuse(
            x,
            {Fault::client,
             "there is no model \"" + std::string(x.rule.id) + "\" here; there are: " + x.directory->model_list(), 404},
            0);
        co_return after;
      }
      const After after = co_await write_whole(x, 200, json_type, std::move(body), {}, x.keep_alive);
      co_return after;
    }
    case Handling::alive: {
      const After after = co_await write_whole(x, 200, json_type, "{\"status\":\"ok\"}", {}, x.keep_alive);
      co_return after;
    }
    case Handling::ready: {
      const std::string missing = co_await pool_not_ready(x);
      if (!missing.empty()) {
        const After after = co_await refuse(x, {Fault::upstream, "no replica of pool " + missing + " is up", 503}, 1);
        co_return after;
      }
      const After after = co_await write_whole(x, 200, json_type, "{\"status\":\"ready\"}", {}, x.keep_alive);
      co_return after;
    }
    case Handling::websocket: {
      const After after = co_await refuse(
          x, {Fault::client, "websockets are not spoken here: send the request as a POST over HTTP/1.1", 426}, 0);
      co_return after;
    }
    case Handling::wrong_method: {
      const After after = co_await refuse(x,
                                          {Fault::client,
                                           std::string(x.head.method) + " is not possible on " +
                                               std::string(x.head.path()) + "; allowed: " + std::string(x.rule.allowed),
                                           405},
                                          0);
      co_return after;
    }
    default: {
      const After after = co_await refuse(x,
                                          {Fault::client,
                                           "there is no path " + std::string(x.head.path()) +
                                               " here, or it is not forwarded (add it to `paths` to allow it)",
                                           404},
                                          0);
      co_return after;
    }
  }
}

net::Task<After> refuse(Exchange& x, Error error, std::uint32_t retry_after_s) {
  if (error.status == 0) error.status = error.fault == Fault::client ? 400 : 503;
  x.record.error = error.what;
  if (x.committed) {
    co_await end_with_error_event(x, error.status, error.what, false);
    co_return After::close;
  }
  const std::string retry = std::to_string(retry_after_s);
  std::vector<Header> added;
  if (retry_after_s > 0) added.push_back({"Retry-After", retry});
  if (error.status == 405) added.push_back({"Allow", x.rule.allowed});
  if (error.status == 426) added.push_back({"Upgrade", "HTTP/1.1"});
  // After bytes that nobody read or that made no sense, the next request's start is anybody's guess.
  const bool body_was_read = !x.head.has_body() || x.body_read;
  const bool keep = x.keep_alive && body_was_read;
  const After after = co_await write_whole(x, error.status, json_type,
                                           dialect::error_body(x.shape, error.status, error.what), added, keep);
  if (!body_was_read) co_await discard_rest(x.connection);
  co_return after;
}

net::Task<After> refuse_unparsed(Connection& c, Error error) {
  std::string out;
  if (error.status == 0) error.status = 400;
  http::write_answer(out, error.status, json_type,
                     dialect::error_body(dialect::Shape::openai, error.status, error.what), false, {});
  const std::vector<std::string_view> pieces{out};
  const auto sent = co_await c.stream.write(pieces, std::chrono::seconds(5));
  if (sent) co_await discard_rest(c);
  co_return After::close;
}

}  // namespace wg::gateway
