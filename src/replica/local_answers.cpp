// The paths that need no engine step: health, models, counting and turning tokens, metrics, stored responses, faults.
#include <algorithm>

#include "core/header.h"
#include "replica/answers.h"
#include "replica/metrics_page.h"
#include "replica/prompt.h"
#include "replica/site.h"

namespace wg::replica {
namespace {

Reply json(std::string body, int status = 200) { return {status, "application/json", std::move(body), {}}; }
Reply refused(const Refusal& refusal, dialect::Api api = dialect::Api::chat) {
  return json(body_of(refusal, api), refusal.status);
}
Reply not_found() { return json(R"({"detail":"Not Found"})", 404); }
Reply empty() { return {200, "", "", {}}; }

std::string max_model_len(const Site& site) { return std::to_string(site.options.preset.engine.model_len().count); }

Reply health(Site& site, Connection&) {
  Reply reply = empty();
  if (site.life == Life::down) reply.status = 503;
  return reply;
}

Reply models(Site& site, Connection&) {
  const std::string id = quoted(site.model), created = std::to_string(unix_seconds());
  return json(
      R"({"object":"list","data":[{"id":)" + id + R"(,"object":"model","created":)" + created +
      R"(,"owned_by":"vllm","root":)" + id + R"(,"parent":null,"max_model_len":)" + max_model_len(site) +
      R"(,"permission":[{"id":"modelperm-)" + site.new_id() + R"(","object":"model_permission","created":)" + created +
      R"(,"allow_create_engine":false,"allow_sampling":true,"allow_logprobs":true,"allow_search_indices":false,)"
      R"("allow_view":true,"allow_fine_tuning":false,"organization":"*","group":null,"is_blocking":false}]}]})");
}

Reply version(Site&, Connection&) { return json(R"({"version":"0.32.0"})"); }
Reply load(Site& site, Connection&) { return json("{\"server_load\":" + std::to_string(site.load) + "}"); }
Reply metrics(Site& site, Connection&) {
  site.group.now();
  return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_page(site), {}};
}

bool is_unknown(const Site& site, const Ask& ask) { return !ask.model.empty() && ask.model != site.model; }

Reply count_tokens(Site& site, Connection& me) {
  const auto ask = read_ask(dialect::Api::count_tokens, me.body);
  if (!ask) return refused(ask.error(), dialect::Api::count_tokens);
  if (is_unknown(site, *ask)) return refused(unknown_model(ask->model), dialect::Api::count_tokens);
  const std::string count = std::to_string(tokens_of(*ask).size());
  return json("{\"input_tokens\":" + count + ",\"context_management\":{\"original_input_tokens\":" + count + "}}");
}

Reply tokenize(Site& site, Connection& me) {
  const auto ask = read_tokenize(me.body);
  if (!ask) return refused(ask.error());
  if (is_unknown(site, *ask)) return refused(unknown_model(ask->model));
  const TokenList tokens = tokens_of(*ask);
  std::string body =
      "{\"count\":" + std::to_string(tokens.size()) + ",\"max_model_len\":" + max_model_len(site) + ",\"tokens\":[";
  for (const sim::TokenId token : tokens) body += std::to_string(token) + ",";
  if (!tokens.empty()) body.pop_back();
  return json(body + "],\"token_strs\":null}");
}

Reply detokenize(Site&, Connection& me) {
  const auto tokens = read_detokenize(me.body);
  if (!tokens) return refused(tokens.error());
  std::string text;
  for (const sim::TokenId token : *tokens) append_bytes(text, token);
  return json("{\"prompt\":" + quoted(text) + "}");
}

Reply reset_prefix_cache(Site& site, Connection&) {
  site.group.now();
  return json(site.group.reset_prefix_cache() ? R"({"success":true})" : R"({"success":false})");
}

// GET tells, POST orders, DELETE takes back what has not happened yet.
Reply fault(Site& site, Connection& me) {
  const std::string_view method = me.parser.head().method;
  me.is_admin = true;
  if (method == "POST") {
    const auto order = read_fault(me.body);
    if (!order) return json("{\"error\":" + quoted(order.error().what) + "}", 400);
    if (order->rank && *order->rank >= site.group.ranks())
      return json("{\"error\":\"rank must be less than " + std::to_string(site.group.ranks()) + "\"}", 400);
    if (is_of_process(order->kind))
      site.carry_out(*order);
    else
      site.faults.arm(*order, site.group.now());
  } else if (method == "DELETE") {
    site.faults.disarm();
  }
  return json(site.faults.report(site.group.now()));
}

Reply stored_response(Site& site, std::string_view method, std::string_view rest) {
  const bool cancels = rest.ends_with("/cancel");
  const std::string id(rest.substr(0, rest.size() - (cancels ? 7 : 0)));
  if (method != (cancels ? "POST" : "GET")) return json(R"({"detail":"Method Not Allowed"})", 405);
  const StoredResponse* const found = site.responses.peek(id);
  if (!found)
    return refused({.status = 404,
                    .type = "invalid_request_error",
                    .message = "Response with id '" + id + "' not found.",
                    .param = "response_id"});
  if (!cancels) return json(found->body);
  return refused(
      {.type = "invalid_request_error", .message = "Cannot cancel a synchronous response.", .param = "response_id"});
}

struct Route {
  std::string_view methods, path;
  Reply (*answer)(Site&, Connection&);
  bool reads_json = false;
};

constexpr Route routes[] = {{"GET", "/health", health},
                            {"GET POST", "/ping", health},
                            {"GET", "/v1/models", models},
                            {"GET", "/metrics", metrics},
                            {"GET", "/version", version},
                            {"GET", "/load", load},
                            {"POST", "/v1/messages/count_tokens", count_tokens, true},
                            {"POST", "/tokenize", tokenize, true},
                            {"POST", "/detokenize", detokenize, true},
                            {"POST", "/reset_prefix_cache", reset_prefix_cache},
                            {"GET POST DELETE", "/fault", fault},
                            {"POST", "/v1/chat/completions", nullptr},
                            {"POST", "/v1/completions", nullptr},
                            {"POST", "/v1/messages", nullptr},
                            {"POST", "/v1/responses", nullptr}};

}  // namespace

Reply local_answer(Site& site, Connection& me) {
  const http::RequestHead& head = me.parser.head();
  static constexpr std::string_view stored = "/v1/responses/";
  if (head.path().starts_with(stored)) return stored_response(site, head.method, head.path().substr(stored.size()));
  const Route* const route =
      std::find_if(std::begin(routes), std::end(routes), [&](const Route& known) { return known.path == head.path(); });
  if (route == std::end(routes) || (route->answer == fault && !site.options.admin)) return not_found();
  if (!route->answer || route->methods.find(head.method) == std::string_view::npos)
    return json(R"({"detail":"Method Not Allowed"})", 405);
  if (route->reads_json && !find_header(head.headers, "content-type").starts_with("application/json"))
    return refused(bad_body("['Unsupported Media Type: Only 'application/json' is allowed']"));
  return route->answer(site, me);
}

}  // namespace wg::replica
