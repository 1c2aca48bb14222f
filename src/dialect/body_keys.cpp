#include "dialect/body_keys.h"

#include <algorithm>
#include <utility>

#include "core/header.h"
#include "dialect/json_string.h"

namespace wg::dialect {
namespace {

// A longer one is neither a key nor Claude Code's user_id, which is JSON of some 200 bytes.
constexpr std::size_t most_raw_bytes = 4096;

std::string text(JsonCursor& cursor) {
  const std::string_view raw = cursor.string();
  return raw.size() <= most_raw_bytes ? decoded(raw) : std::string();
}

std::string usable(JsonCursor& cursor) {
  std::string value = text(cursor);
  return is_usable_key(value) ? value : std::string();
}

bool is_uuid(std::string_view value) {
  if (value.size() != 36) return false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = lower(value[i]);
    if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

// Claude Code: a JSON object as a string; before that user_<hash>_account_<uuid>_session_<uuid>.
std::string session_in_user_id(std::string_view user_id) {
  std::string session;
  if (user_id.starts_with('{')) {
    JsonCursor cursor(user_id);
    cursor.object([&](std::string_view key) {
      if (key == "session_id") session = usable(cursor);
    });
    return cursor.finish() ? session : std::string();
  }
  static constexpr std::string_view mark = "_session_";
  const std::size_t at = user_id.rfind(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view value = user_id.substr(at + mark.size());
  return is_uuid(value) ? std::string(value) : std::string();
}

template <class... Rest>
std::string first_of(std::string& value, Rest&... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return std::move(value);
  } else {
    return value.empty() ? first_of(rest...) : std::move(value);
  }
}

}  // namespace

bool is_usable_key(std::string_view value) {
  return !value.empty() && value.size() <= 256 &&
         std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

bool BodyKeyReader::member(std::string_view key, JsonCursor& cursor) {
  if (key == "conversation") {
    if (cursor.peek() == '"') return conversation_ = usable(cursor), true;
    cursor.object([&](std::string_view inner) {
      if (inner == "id") conversation_ = usable(cursor);
    });
  } else if (key == "prompt_cache_key") {
    snake_cache_key_ = usable(cursor);
  } else if (key == "promptCacheKey") {
    camel_cache_key_ = usable(cursor);
  } else if (key == "session_id") {
    session_id_ = usable(cursor);
  } else if (key == "previous_response_id") {
    previous_response_id_ = usable(cursor);
  } else if (key == "client_metadata") {
    cursor.object([&](std::string_view inner) {
      if (inner == "thread_id") client_thread_ = usable(cursor);
      if (inner == "session_id") client_session_ = usable(cursor);
    });
  } else if (key == "metadata") {
    cursor.object([&](std::string_view inner) {
      if (inner == "session_id") metadata_session_ = usable(cursor);
      if (inner == "conversation_id") metadata_conversation_ = usable(cursor);
      if (inner == "user_id") user_id_ = text(cursor);
    });
  } else {
    return false;
  }
  return true;
}

BodyKeys BodyKeyReader::finish() {
  BodyKeys keys;
  keys.conversation = std::move(conversation_);
  keys.prompt_cache_key = first_of(snake_cache_key_, camel_cache_key_);
  keys.session = first_of(session_id_, client_thread_, client_session_, metadata_session_, metadata_conversation_);
  keys.user_session = session_in_user_id(user_id_);
  keys.previous_response_id = std::move(previous_response_id_);
  return keys;
}

}  // namespace wg::dialect
