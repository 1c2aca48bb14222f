// Stage 3: what the request is. Model and pool, session, and the words for what is wrong with it.
#include "core/hash.h"
#include "gateway/stages.h"

namespace wg::gateway {
namespace {

// Which of an engine's paths read X-data-parallel-rank (facts: chat, completions and messages do, responses and the
// pooling paths do not).
bool is_steerable(dialect::Api api) {
  return api == dialect::Api::chat || api == dialect::Api::completions || api == dialect::Api::messages;
}

bool makes_turns(dialect::Api api) { return is_steerable(api) || api == dialect::Api::responses; }

// A name can be as long as a body: only its beginning is repeated.
tl::unexpected<Error> no_such_model(const Exchange& x) {
  constexpr std::size_t shown = 100;
  const std::string name = x.facts.model.substr(0, shown) + (x.facts.model.size() > shown ? "..." : "");
  return fail(Fault::client, "there is no model \"" + name + "\" here; there are: " + x.directory->model_list(), 404);
}

// The only pool there is, for paths whose bodies need not name a model (/tokenize).
std::optional<PoolIndex> only_pool(const Directory& directory) {
  std::optional<PoolIndex> only;
  for (PoolIndex p = 0; p < directory.pools.size(); ++p) {
    if (p > 0 && directory.pools[p].name.empty()) continue;
    if (only) return std::nullopt;
    only = p;
  }
  return only;
}

fleet::ClientKind client_of(dialect::KeySource source) {
  using dialect::KeySource;
  switch (source) {
    case KeySource::claude_code:
    case KeySource::codex:
    case KeySource::opencode:
    case KeySource::goose:
      return fleet::ClientKind::agent;
    case KeySource::open_webui:
      return fleet::ClientKind::chat;
    default:
      return fleet::ClientKind::unknown;
  }
}

}  // namespace

SessionKey response_key(std::string_view response_id) { return KeyHasher().add("response").add(response_id).finish(); }

Result<void> inspect(Exchange& x) {
  if (x.rule.handling == Handling::forward_response) return {};
  if (!x.connection.body.empty() || makes_turns(x.rule.api)) {
    auto facts = dialect::inspect(x.rule.api, x.connection.body.view());
    if (!facts) return tl::unexpected(facts.error());
    x.facts = std::move(*facts);
  }

  std::optional<PoolIndex> pool;
  if (!x.facts.model.empty()) {
    pool = x.directory->pool_of(x.facts.model);
    if (!pool) return no_such_model(x);
  } else if (!makes_turns(x.rule.api)) {
    pool = only_pool(*x.directory);
  }
  if (!pool) return fail(Fault::client, "the body names no \"model\"; there are: " + x.directory->model_list(), 400);
  x.pool = *pool;

  if (makes_turns(x.rule.api)) {
    const dialect::Scope scope{dialect::credential_of(x.head.headers), x.directory->pools[x.pool].name};
    x.session = dialect::identify(x.head.headers, x.facts, scope, x.shared.config.sessions.key_header);
  }
  return {};
}

fleet::RequestArrived arrival(const Exchange& x) {
  fleet::RequestArrived event;
  event.request = x.id;
  event.pool = x.pool;
  event.session = x.session.key;
  event.lineage = x.session.lineage;
  event.parent = x.session.parent;
  event.prompt_estimate = dialect::estimate_tokens(x.facts.text_bytes);
  event.head = x.facts.head;
  event.text_bytes = x.facts.text_bytes;
  event.dialect = static_cast<std::uint32_t>(x.rule.api);
  event.client = client_of(x.session.source);
  event.ends_session = find_header(x.head.headers, "x-warmgate-release") == "1";
  event.steerable_path = is_steerable(x.rule.api);
  if (!makes_turns(x.rule.api) || x.rule.handling == Handling::forward_response)
    event.kind = fleet::RequestClass::untracked;
  else if (x.session.parent)
    event.kind = fleet::RequestClass::sub_agent;
  else if (x.facts.is_background)
    event.kind = fleet::RequestClass::background;
  if (x.rule.handling == Handling::forward_response) {
    event.pinned_to_response = response_key(x.rule.id);
    event.must_be_pinned = true;
  } else if (!x.facts.keys.previous_response_id.empty()) {
    event.pinned_to_response = response_key(x.facts.keys.previous_response_id);
  }
  return event;
}

}  // namespace wg::gateway
