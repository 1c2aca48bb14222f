// The client APIs that the gateway speaks. An Api is known from the path alone; a Shape is the family of its errors
// and streams.
#pragma once

#include <cstdint>
#include <string_view>

namespace wg::dialect {

enum class Api : std::uint8_t {
  chat,          // /v1/chat/completions
  completions,   // /v1/completions
  messages,      // /v1/messages
  count_tokens,  // /v1/messages/count_tokens
  responses,     // /v1/responses
  other          // forwarded by the allow-list, body only searched for its model
};

enum class Shape : std::uint8_t { openai, anthropic };

Api api_of(std::string_view path);  // path without its query
std::string_view name_of(Api api);  // "chat", "completions", ... for logs and metrics

// Anthropic for messages and count_tokens, and wherever the request carries anthropic-version.
constexpr Shape shape_of(Api api) {
  return api == Api::messages || api == Api::count_tokens ? Shape::anthropic : Shape::openai;
}

}  // namespace wg::dialect
