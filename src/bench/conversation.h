// The requests of one session: a history that grows, unless it is rewound. What was once sent is sent again byte for
// byte, as agents do, so that a prefix cache can hit. Owner: one session.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/target.h"
#include "bench/text.h"

namespace wg::bench {

class Conversation {
 public:
  // `head`: the system prompt. Plain text that needs no escapes.
  Conversation(const Target& target, std::string_view head);

  void add_user(std::string_view text);  // needs no escapes; behind a tool call: the tool's result
  void add_answer(std::string_view escaped_text, const ToolCall& tool = {});  // as text.h's functions give them
  // Its history is edited: of its text the first `bytes` stay, up to the end of an answer. Returns how many really
  // stay.
  std::size_t rewind(std::size_t bytes);
  std::string body(std::int64_t max_tokens) const;  // of a streamed request
  std::size_t text_bytes() const { return text_bytes_; }

 private:
  void add(std::string_view role, std::string_view escaped_text);
  void add_raw(std::string_view message);

  const dialect::Api api_;
  std::string opening_, messages_;
  std::string tool_id_;  // of the call that the next text answers
  struct Mark {          // where a user's text began
    std::size_t text_bytes = 0, size = 0;
    std::string tool_id;
  };
  std::vector<Mark> marks_;
  std::size_t text_bytes_ = 0;
};

// The path that such requests go to, the target's base path included.
std::string path_of(const Target& target);

}  // namespace wg::bench
