#include "dialect/session.h"

#include <array>
#include <string>

#include "core/hash.h"
#include "dialect/body_keys.h"

namespace wg::dialect {
namespace {

enum class Parenthood : std::uint8_t { none, claude_code, codex, opencode };

struct Row {
  KeySource source;
  std::array<std::string_view, 11> headers;  // in order, empty ones unused
  std::string BodyKeys::* body = nullptr;
  Parenthood parenthood = Parenthood::none;
};

// The table of docs/clients.md, row by row; the first usable value wins. Row 1's first header is the operator's own.
// Not here on purpose: x-request-id, x-client-request-id, traceparent, user, safety_identifier, the address: they name
// a request or a person, not a conversation.
constexpr Row table[] = {
    /*  1 */ {KeySource::operator_header, {"x-smg-routing-key", "x-litellm-session-id", "x-bf-session-id"}},
    /*  2 */ {KeySource::claude_code, {"x-claude-code-session-id"}, nullptr, Parenthood::claude_code},
    /*  3 */ {KeySource::codex, {"thread-id", "session-id"}, nullptr, Parenthood::codex},
    /*  4 */
    {KeySource::opencode, {"x-session-affinity", "x-session-id", "x-opencode-session"}, nullptr, Parenthood::opencode},
    /*  5 */ {KeySource::session_id_header, {"session_id"}},
    /*  6 */ {KeySource::goose, {"agent-session-id"}},
    /*  7 */ {KeySource::open_webui, {"x-openwebui-chat-id"}},
    /*  8 */
    {KeySource::other_header,
     {"x-task-id", "x-roo-task-id", "x-zoo-session-id", "x-conversation-id", "conversation-id", "conversation_id",
      "x-amp-thread-id", "x-grok-conv-id", "x-dynamo-session-id", "x-cagent-session-id", "helicone-session-id"}},
    /*  9 */ {KeySource::conversation, {}, &BodyKeys::conversation},
    /* 10 */ {KeySource::prompt_cache_key, {}, &BodyKeys::prompt_cache_key},
    /* 11 */ {KeySource::body_session, {}, &BodyKeys::session},
    /* 12 */ {KeySource::user_id, {}, &BodyKeys::user_session},
    /* 13 */ {KeySource::previous_response, {}, &BodyKeys::previous_response_id},
    /* 14: the fingerprint, 15: none */
};

// A header's value if it may be a key, else empty.
std::string_view usable_header(Headers headers, std::string_view name) {
  const std::string_view value = find_header(headers, name);
  return is_usable_key(value) ? value : std::string_view();
}

std::string_view find_value(const Row& row, Headers headers, const BodyKeys& body) {
  for (const std::string_view name : row.headers) {
    if (name.empty()) break;
    if (const std::string_view value = usable_header(headers, name); !value.empty()) return value;
  }
  return row.body ? std::string_view(body.*row.body) : std::string_view();
}

// `agent`: of a Claude Code sub-agent, which shares its parent's session id; else empty.
SessionKey scoped_key(const Scope& scope, KeySource source, std::string_view value, std::string_view agent = {}) {
  KeyHasher hasher;
  hasher.add(scope.credential).add(scope.pool).add(name_of(source)).add(value);
  if (!agent.empty()) hasher.add(agent);
  return hasher.finish();
}

std::string_view bytes_of(const SessionKey& key) { return {reinterpret_cast<const char*>(&key), sizeof key}; }

// A parent's key is made exactly as the parent's own requests make it.
void add_key_and_parent(Session& session, Headers headers, const Scope& scope, const Row& row, std::string_view value) {
  std::string_view agent, parent, parent_agent;
  switch (row.parenthood) {
    case Parenthood::none:
      break;
    case Parenthood::claude_code:
      agent = usable_header(headers, "x-claude-code-agent-id");
      if (agent.empty()) break;
      parent = value;
      parent_agent = usable_header(headers, "x-claude-code-parent-agent-id");
      break;
    case Parenthood::codex:
      // A root thread's id is its session's id.
      parent = usable_header(headers, "x-codex-parent-thread-id");
      if (parent.empty()) parent = usable_header(headers, "session-id");
      break;
    case Parenthood::opencode:
      parent = usable_header(headers, "x-parent-session-id");
      break;
  }
  session.source = row.source;
  session.key = scoped_key(scope, row.source, value, agent);
  if (!parent.empty() && (parent != value || parent_agent != agent))
    session.parent = scoped_key(scope, row.source, parent, parent_agent);
}

}  // namespace

std::string_view name_of(KeySource source) {
  switch (source) {
    case KeySource::none:
      return "none";
    case KeySource::operator_header:
      return "operator-header";
    case KeySource::claude_code:
      return "claude-code";
    case KeySource::codex:
      return "codex";
    case KeySource::opencode:
      return "opencode";
    case KeySource::session_id_header:
      return "session-id-header";
    case KeySource::goose:
      return "goose";
    case KeySource::open_webui:
      return "open-webui";
    case KeySource::other_header:
      return "other-header";
    case KeySource::conversation:
      return "conversation";
    case KeySource::prompt_cache_key:
      return "prompt-cache-key";
    case KeySource::body_session:
      return "body-session";
    case KeySource::user_id:
      return "user-id";
    case KeySource::previous_response:
      return "previous-response";
    case KeySource::fingerprint:
      return "fingerprint";
  }
  return "none";
}

Session identify(Headers headers, const BodyFacts& body, const Scope& scope, std::string_view operator_header) {
  Session session;
  if (!operator_header.empty()) {
    const Row own = {KeySource::operator_header, {operator_header}};
    if (const std::string_view value = find_value(own, headers, body.keys); !value.empty())
      add_key_and_parent(session, headers, scope, own, value);
  }
  for (const Row& row : table) {
    if (session.key) break;
    if (const std::string_view value = find_value(row, headers, body.keys); !value.empty())
      add_key_and_parent(session, headers, scope, row, value);
  }
  if (!session.key && body.fingerprint) {
    session.source = KeySource::fingerprint;
    session.key = scoped_key(scope, KeySource::fingerprint, bytes_of(body.fingerprint));
  }
  // Both parts are hashes already: no need for another SHA-256.
  if (session.key) session.lineage = {mix(session.key.high, body.head.high), mix(session.key.low, body.head.low)};
  return session;
}

std::string_view credential_of(Headers headers) {
  static constexpr std::string_view scheme = "bearer ";
  std::string_view value = find_header(headers, "authorization");
  if (value.size() > scheme.size() && equals_ignoring_case(value.substr(0, scheme.size()), scheme)) {
    value.remove_prefix(scheme.size());
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    if (!value.empty()) return value;
  }
  return find_header(headers, "x-api-key");
}

}  // namespace wg::dialect
