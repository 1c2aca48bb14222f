// What a request body asks for, read once: whose dialect it is no longer matters behind this. Pure.
// Invariant: the messages are the prompt, in its order, whole; what is not in them has no tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "dialect/api.h"
#include "replica/refusal.h"
#include "replica/tokenizer.h"

namespace wg::replica {

struct Message {
  std::string role, text;
};

struct Ask {
  dialect::Api api = dialect::Api::chat;
  std::string model;  // empty: not said
  bool stream = false;
  bool include_usage = false;
  std::optional<std::int64_t> max_tokens;
  bool ignore_eos = false;
  std::string tool;  // the first one's name; empty: none
  std::vector<Message> messages;
  TokenList raw;  // of completions: a prompt without roles
  bool is_raw = false;
  std::string raw_text;  // what of it was text
  std::string cache_salt;
  std::string previous_response_id, instructions;
  std::size_t head_messages = 0;  // so many of the messages are system text and tools
  bool store = true;
};

Asked<Ask> read_ask(dialect::Api api, std::string_view body);
// The body of /tokenize: "prompt", or "messages" as chat has them.
Asked<Ask> read_tokenize(std::string_view body);
Asked<TokenList> read_detokenize(std::string_view body);

// How a tool call stands in a prompt, and is generated.
inline constexpr std::string_view tool_call_begin = "<tool_call>{\"name\":\"",
                                  tool_call_middle = "\",\"arguments\":", tool_call_end = "}</tool_call>";

// A running hash of a conversation: 128 bits of SHA-256 over the hash before, the role and the text.
SessionKey extend(const SessionKey& digest, std::string_view role, std::string_view text);
std::string hex_of(const SessionKey& digest);  // 32 digits

}  // namespace wg::replica
