// The fields of one SSE event, as views. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace wg::dialect {

struct SseEvent {
  std::string_view name;  // "event:"
  std::string_view data;  // "data:"
  bool has_data = false;
};

// CR, LF and CRLF end lines. `joined` holds the data where it came in several lines, which no engine does: else
// untouched.
SseEvent read_sse_event(std::string_view event, std::string& joined);

}  // namespace wg::dialect
