#include "gateway/paths.h"

#include <algorithm>
#include <array>

namespace wg::gateway {
namespace {

// What engines offer that is safe to pass on. Their control paths (LoRA loading, sleep, cache reset, weight updates)
// are left out on purpose: a client must not be able to change an engine that others use.
constexpr std::array<std::string_view, 16> forwarded_posts{"/v1/chat/completions",
                                                           "/v1/completions",
                                                           "/v1/messages",
                                                           "/v1/messages/count_tokens",
                                                           "/v1/responses",
                                                           "/v1/embeddings",
                                                           "/tokenize",
                                                           "/detokenize",
                                                           "/v1/rerank",
                                                           "/rerank",
                                                           "/v1/score",
                                                           "/score",
                                                           "/pooling",
                                                           "/classify",
                                                           "/v1/chat/completions/render",
                                                           "/v1/completions/render"};

constexpr std::string_view responses = "/v1/responses/", models = "/v1/models/", cancel = "/cancel";

bool is_one_segment(std::string_view text) { return !text.empty() && text.find('/') == std::string_view::npos; }

PathRule only(std::string_view method, std::string_view allowed, PathRule rule) {
  if (allowed == "GET, HEAD" ? method == "GET" || method == "HEAD" : method == allowed) return rule;
  return {Handling::wrong_method, rule.api, {}, allowed};
}

PathRule rule_for_response(std::string_view method, std::string_view rest) {
  if (is_one_segment(rest)) return only(method, "GET", {Handling::forward_response, dialect::Api::responses, rest, {}});
  if (rest.ends_with(cancel) && is_one_segment(rest.substr(0, rest.size() - cancel.size())))
    return only(method, "POST",
                {Handling::forward_response, dialect::Api::responses, rest.substr(0, rest.size() - cancel.size()), {}});
  return {};
}

}  // namespace

PathRule rule_for(std::string_view method, std::string_view path, bool wants_upgrade,
                  const std::vector<std::string>& added) {
  const dialect::Api api = dialect::api_of(path);
  // Codex tries a websocket first and wastes five retries on a 404 or 405.
  if (wants_upgrade && method == "GET") return {Handling::websocket, api, {}, {}};
  if (std::find(forwarded_posts.begin(), forwarded_posts.end(), path) != forwarded_posts.end())
    return only(method, "POST", {Handling::forward, api, {}, {}});
  if (path.starts_with(responses)) return rule_for_response(method, path.substr(responses.size()));
  if (path == "/v1/models") return only(method, "GET, HEAD", {Handling::models, api, {}, {}});
  if (path.starts_with(models))
    return only(method, "GET, HEAD", {Handling::model, api, path.substr(models.size()), {}});
  if (path == "/" || path == "/health") return only(method, "GET, HEAD", {Handling::alive, api, {}, {}});
  if (path == "/ready") return only(method, "GET, HEAD", {Handling::ready, api, {}, {}});
  for (const std::string_view entry : added) {
    const std::size_t space = entry.find(' ');
    const std::string_view its_method = space == entry.npos ? "POST" : entry.substr(0, space);
    if (path == (space == entry.npos ? entry : entry.substr(space + 1)))
      return only(method, its_method == "GET" ? "GET, HEAD" : its_method, {Handling::forward, api, {}, {}});
  }
  return {};
}

}  // namespace wg::gateway
