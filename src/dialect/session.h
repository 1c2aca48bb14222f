// Which conversation a request belongs to: the ordered table of docs/clients.md. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/header.h"
#include "core/ids.h"
#include "dialect/body.h"

namespace wg::dialect {

enum class KeySource : std::uint8_t {
  none,
  operator_header,
  claude_code,
  codex,
  opencode,
  session_id_header,
  goose,
  open_webui,
  other_header,
  conversation,
  prompt_cache_key,
  body_session,
  user_id,
  previous_response,
  fingerprint
};
std::string_view name_of(KeySource source);

// Values are hashed together with these, so that one tenant's key never meets another's.
struct Scope {
  std::string_view credential;  // the client's API key, or empty
  std::string_view pool;        // the pool's name: aliases share it
};

struct Session {
  SessionKey key;      // zero: none (empty prompt, embeddings): goes to the least loaded
  SessionKey parent;   // of a sub-agent; else zero
  SessionKey lineage;  // key + hash of the head
  KeySource source = KeySource::none;
};

// First match of the table wins; a value that is not 1..256 visible ASCII bytes is passed over.
// `operator_header`: the configured header name that comes before all others, or empty.
Session identify(Headers headers, const BodyFacts& body, const Scope& scope, std::string_view operator_header);

// The client's credential: Authorization's Bearer value, else x-api-key, else empty.
std::string_view credential_of(Headers headers);

}  // namespace wg::dialect
