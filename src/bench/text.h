// Made-up text for prompts, and the text of an answer as it stands in its events. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "dialect/api.h"

namespace wg::bench {

// `bytes` bytes of words without meaning, which need no escapes in JSON. Another seed, another text from its first
// word on: nothing of it can be in a cache.
std::string made_up_text(std::uint64_t seed, std::size_t bytes);

// What an event of a stream adds to the answer's text, still escaped as in the JSON: pieces put behind each other can
// go back into a request between quotes. Empty if the event adds none.
std::string_view escaped_text_of(std::string_view event, dialect::Api api);

// A tool call, its parts escaped as they came.
struct ToolCall {
  std::string id, name, arguments;
  explicit operator bool() const { return !id.empty(); }
};

// What an event adds to it. Of several calls in one answer all arguments end up in one, which no engine of ours makes.
void add_tool_piece(ToolCall& call, std::string_view event, dialect::Api api);

}  // namespace wg::bench
