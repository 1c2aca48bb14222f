// What a request body says, found in one pass as byte spans: the body is never rebuilt. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "core/units.h"
#include "dialect/api.h"

namespace wg::dialect {

// Bytes that must be readable (not: meaningful) behind a body given to inspect().
inline constexpr std::size_t body_padding = 64;

struct Span {
  std::size_t offset = 0, length = 0;
  explicit operator bool() const { return length != 0; }
};

// The values of section 1 of the session-key table that live in bodies; empty: absent or not usable.
struct BodyKeys {
  std::string conversation;      // "conversation" (string or .id)
  std::string prompt_cache_key;  // also promptCacheKey
  std::string session;       // session_id, client_metadata.thread_id/.session_id, metadata.session_id/.conversation_id
  std::string user_session;  // metadata.user_id: JSON .session_id, else the _session_<uuid> ending
  std::string previous_response_id;
};

// What stands as stream_options: decides how include_usage is put in.
enum class OptionsKind : std::uint8_t { absent, null, empty, object, other };

struct BodyFacts {
  std::string model;  // decoded
  Span model_value;   // the JSON string with its quotes
  bool stream = false;
  bool include_usage = false;  // the client itself asked for the usage chunk
  Span stream_options;         // the whole value, if present
  OptionsKind options = OptionsKind::absent;
  Span include_usage_value;         // its true/false, if present
  std::size_t first_member = 0;     // offset just behind the opening brace: where a member can be put in
  bool is_empty_object = false;     // then no comma may follow
  std::vector<Span> billing_lines;  // what to remove to drop Claude Code's billing line, with its comma
  BodyKeys keys;
  SessionKey fingerprint;       // facts on clients, 1.2; zero if there is nothing to hash. Not scoped
  SessionKey head;              // hash of system text and tools; zero if none. Not scoped
  std::int64_t text_bytes = 0;  // text that becomes prompt: no base64, no images, no JSON syntax
  std::int64_t max_tokens = 0;  // 0: not given
  bool has_tools = false;
  bool is_background =
      false;  // a title, summary or memory call rather than a turn (small, no tools, JSON schema output)
};

// Reads a body of that API. Needs body_padding readable bytes after its end.
// Errors (400): not JSON (with the offset), not an object, duplicate top-level keys, nesting too deep, trailing bytes,
// model not a string. What else is inside values is the engine's business.
Result<BodyFacts> inspect(Api api, std::string_view body);

// About 4 bytes of text make a token: a prior until an engine's own ratio is learnt.
constexpr Tokens estimate_tokens(std::int64_t text_bytes) { return {(text_bytes + 3) / 4}; }

}  // namespace wg::dialect
