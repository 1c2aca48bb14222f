#include "bench/conversation.h"

#include "dialect/json_string.h"

namespace wg::bench {

Conversation::Conversation(const Target& target, std::string_view head) {
  opening_ = "{\"model\":";
  dialect::append_quoted(opening_, target.model);
  opening_ += ",\"stream\":true";
  if (target.api == dialect::Api::messages) {
    opening_.append(",\"system\":\"").append(head).append("\"");
    text_bytes_ += head.size();
  } else {
    opening_ += ",\"stream_options\":{\"include_usage\":true}";
    add("system", head);
  }
}

void Conversation::add(std::string_view role, std::string_view escaped_text) {
  if (!messages_.empty()) messages_ += ',';
  messages_.append("{\"role\":\"").append(role).append("\",\"content\":\"").append(escaped_text).append("\"}");
  text_bytes_ += escaped_text.size();
}

void Conversation::add_user(std::string_view text) { add("user", text); }

// Anthropic's API refuses an assistant message without text.
void Conversation::add_answer(std::string_view escaped_text) {
  add("assistant", escaped_text.empty() ? std::string_view("-") : escaped_text);
}

std::string Conversation::body(std::int64_t max_tokens) const {
  const std::string limit = ",\"max_tokens\":" + std::to_string(max_tokens) + ",\"messages\":[";
  std::string body;
  body.reserve(opening_.size() + limit.size() + messages_.size() + 2);
  return body.append(opening_).append(limit).append(messages_).append("]}");
}

std::string path_of(const Target& target) {
  return target.base_path + (target.api == dialect::Api::messages ? "/v1/messages" : "/v1/chat/completions");
}

}  // namespace wg::bench
