// What a load is sent to: any server that speaks OpenAI's chat completions or Anthropic's messages. Values only.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "dialect/api.h"

namespace wg::bench {

struct Target {
  std::string name;  // in reports
  std::string host;
  std::uint16_t port = 80;
  std::string base_path;   // put before /v1/...
  std::string credential;  // sent as Bearer; empty: none
  std::string model;
  dialect::Api api = dialect::Api::chat;  // chat or messages
  std::string session_header;             // carries a session's key; empty: the dialect's own (session_header_of)
  bool ignore_eos = false;                // asks for answers of full length, as vLLM and llama.cpp can give
  bool simulated = false;                 // a `warmgate replica` answers: it ends answers as it is told
  double bytes_per_token = 4;             // of made-up text, with this server's tokenizer
};

// What a client of that dialect names its session with: Claude Code's header, or ours.
inline std::string session_header_of(const Target& target) {
  if (!target.session_header.empty()) return target.session_header;
  return target.api == dialect::Api::messages ? "x-claude-code-session-id" : "x-session-key";
}

inline std::size_t bytes_of(const Target& target, std::int64_t tokens) {
  return static_cast<std::size_t>(std::lround(static_cast<double>(tokens) * target.bytes_per_token));
}

}  // namespace wg::bench
