#include "bench/conversation.h"

#include "dialect/json_string.h"

namespace wg::bench {

namespace {
constexpr std::string_view schema =
    R"({"type":"object","properties":{"command":{"type":"string"}},"required":["command"]})";

std::string tools_of(dialect::Api api) {
  std::string tools = R"(,"tools":[{)";
  if (api != dialect::Api::messages) tools += R"("type":"function","function":{)";
  tools.append(R"("name":"run","description":"Runs a command.",)");
  tools.append(api == dialect::Api::messages ? "\"input_schema\":" : "\"parameters\":").append(schema);
  return tools + (api == dialect::Api::messages ? "}]" : "}}]");
}
}  // namespace

Conversation::Conversation(const Target& target, std::string_view head) : api_(target.api) {
  opening_ = "{\"model\":";
  dialect::append_quoted(opening_, target.model);
  opening_ += ",\"stream\":true";
  if (target.ignore_eos) opening_ += ",\"ignore_eos\":true";
  if (target.simulated) opening_ += tools_of(target.api);
  if (target.api == dialect::Api::messages) {
    opening_.append(",\"system\":\"").append(head).append("\"");
    text_bytes_ += head.size();
  } else {
    opening_ += ",\"stream_options\":{\"include_usage\":true}";
    add("system", head);
  }
}

void Conversation::add(std::string_view role, std::string_view escaped_text) {
  const std::string opening = "{\"role\":\"" + std::string(role) + "\",\"content\":\"";
  add_raw(std::string(opening).append(escaped_text).append("\"}"));
  text_bytes_ += escaped_text.size();
}

void Conversation::add_raw(std::string_view message) {
  if (!messages_.empty()) messages_ += ',';
  messages_.append(message);
}

std::size_t Conversation::rewind(std::size_t bytes) {
  while (marks_.size() > 1 && marks_.back().text_bytes > bytes) marks_.pop_back();
  if (marks_.empty() || text_bytes_ <= bytes) return text_bytes_;
  const Mark mark = marks_.back();
  marks_.pop_back();
  messages_.resize(mark.size);
  text_bytes_ = mark.text_bytes;
  tool_id_ = mark.tool_id;
  return text_bytes_;
}

void Conversation::add_user(std::string_view text) {
  marks_.push_back({text_bytes_, messages_.size(), tool_id_});
  if (tool_id_.empty()) return add("user", text);
  const std::string result =
      api_ == dialect::Api::messages
          ? R"({"role":"user","content":[{"type":"tool_result","tool_use_id":")" + tool_id_ + R"(","content":")"
          : R"({"role":"tool","tool_call_id":")" + tool_id_ + R"(","content":")";
  add_raw(std::string(result).append(text).append(api_ == dialect::Api::messages ? "\"}]}" : "\"}"));
  text_bytes_ += text.size();
  tool_id_.clear();
}

// Anthropic's API refuses an assistant message without text.
void Conversation::add_answer(std::string_view escaped_text, const ToolCall& tool) {
  tool_id_ = tool.id;
  text_bytes_ += tool.arguments.size();
  if (tool && api_ == dialect::Api::messages) {
    const std::string input = dialect::decoded(tool.arguments);
    return add_raw(R"({"role":"assistant","content":[{"type":"tool_use","id":")" + tool.id + R"(","name":")" +
                   tool.name + R"(","input":)" + (input.empty() ? "{}" : input) + "}]}");
  }
  if (tool)
    return add_raw(R"({"role":"assistant","content":null,"tool_calls":[{"id":")" + tool.id +
                   R"(","type":"function","function":{"name":")" + tool.name + R"(","arguments":")" + tool.arguments +
                   "\"}}]}");
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
