// Session ids that live in bodies: rows 9 to 13 of the session-key table. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "dialect/body.h"
#include "dialect/json_cursor.h"

namespace wg::dialect {

// 1..256 visible ASCII bytes: what a client may name a conversation with.
bool is_usable_key(std::string_view value);

class BodyKeyReader {
 public:
  // Takes the cursor's value if the top-level key names a conversation; false if it does not (nothing taken).
  bool member(std::string_view key, JsonCursor& cursor);
  BodyKeys finish();  // once, when no cursor is open

 private:
  std::string conversation_, snake_cache_key_, camel_cache_key_, previous_response_id_;
  // In the order in which they are preferred.
  std::string session_id_, client_thread_, client_session_, metadata_session_, metadata_conversation_;
  std::string user_id_;
};

}  // namespace wg::dialect
