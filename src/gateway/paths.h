// Which paths exist and what becomes of a request for one: answered here, forwarded, or refused. Pure; the allow-list
// stands here once, `paths:` of the configuration adds to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialect/api.h"

namespace wg::gateway {

enum class Handling {
  forward,           // to a replica of the pool that the body's model names
  forward_response,  // GET /v1/responses/{id} and POST .../cancel: where the response was made
  models,            // GET /v1/models
  model,             // GET /v1/models/{id}
  alive,             // HEAD or GET / and /health
  ready,             // /ready
  websocket,         // GET with Upgrade: 426
  wrong_method,      // known path, other method: 405
  unknown            // not in the allow-list: 404
};

struct PathRule {
  Handling handling = Handling::unknown;
  dialect::Api api = dialect::Api::other;
  std::string_view id;       // the {id} of a response or model; a view into the path
  std::string_view allowed;  // for wrong_method: what Allow says
};

// `added`: configured paths, POST unless they begin with a method and a space.
PathRule rule_for(std::string_view method, std::string_view path, bool wants_upgrade,
                  const std::vector<std::string>& added);

}  // namespace wg::gateway
