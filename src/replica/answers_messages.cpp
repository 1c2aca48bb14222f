#include "replica/answers.h"

namespace wg::replica {
namespace {

std::string stop_reason(Ending ending) {
  switch (ending) {
    case Ending::stop:
      return "\"end_turn\"";
    case Ending::length:
      return "\"max_tokens\"";
    case Ending::tool_calls:
      return "\"tool_use\"";
    case Ending::abort:
      return "null";
  }
  return "null";
}

class MessagesAnswer : public Answer {
 public:
  explicit MessagesAnswer(AnswerFacts facts) : facts_(std::move(facts)) {}

  // The cache is told only at the end: here vLLM counts the whole prompt as input.
  void first(std::string& out, const Usage& usage) override {
    event(out, "message_start",
          "\"message\":{\"id\":" + quoted(facts_.id) + R"(,"type":"message","role":"assistant","content":[],"model":)" +
              quoted(facts_.model) + R"(,"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":)" +
              std::to_string(usage.prompt) + ",\"output_tokens\":0}}");
  }

  void text(std::string& out, std::string_view more, const End* end) override {
    if (!more.empty()) {
      if (!in_block_) start_block(out, R"({"type":"text","text":""})");
      delta(out, "\"type\":\"text_delta\",\"text\":" + quoted(more));
    }
    if (end) this->end(out, *end);
  }

  void tool(std::string& out) override {
    start_block(out, "{\"type\":\"tool_use\",\"id\":" + quoted("chatcmpl-tool-" + facts_.part_id) +
                         ",\"name\":" + quoted(facts_.tool) + ",\"input\":{}}");
  }

  void arguments(std::string& out, std::string_view more, const End* end) override {
    if (!more.empty()) delta(out, "\"type\":\"input_json_delta\",\"partial_json\":" + quoted(more));
    if (end) this->end(out, *end);
  }

  void end(std::string& out, const End& end) override {
    if (in_block_) event(out, "content_block_stop", "\"index\":0");
    event(out, "message_delta",
          "\"delta\":{\"stop_reason\":" + stop_reason(end.ending) +
              ",\"stop_sequence\":null},\"usage\":" + usage(end.usage));
    out += "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
  }

  std::string whole(std::string_view text, std::string_view arguments, const End& end) override {
    std::string out = "{\"id\":" + quoted(facts_.id) + R"(,"type":"message","role":"assistant","content":[)";
    if (facts_.tool.empty())
      out += "{\"type\":\"text\",\"text\":" + quoted(text) + "}";
    else
      out += "{\"type\":\"tool_use\",\"id\":" + quoted("chatcmpl-tool-" + facts_.part_id) +
             ",\"name\":" + quoted(facts_.tool) + ",\"input\":" + std::string(arguments) + "}";
    out += "],\"model\":" + quoted(facts_.model);
    if (end.ending != Ending::abort)
      out += ",\"stop_reason\":" + stop_reason(end.ending);  // vLLM leaves nulls out here
    return out + ",\"usage\":" + usage(end.usage) + "}";
  }

 private:
  void event(std::string& out, std::string_view type, std::string_view rest) {
    out.append("event: ").append(type).append("\ndata: {\"type\":\"").append(type).append("\",").append(rest);
    out += "}\n\n";
  }
  void start_block(std::string& out, std::string_view block) {
    in_block_ = true;
    event(out, "content_block_start", "\"content_block\":" + std::string(block) + ",\"index\":0");
  }
  void delta(std::string& out, std::string_view delta) {
    event(out, "content_block_delta", "\"delta\":{" + std::string(delta) + "},\"index\":0");
  }

  std::string usage(const Usage& usage) const {
    const std::int64_t told = facts_.details ? usage.cached + usage.created_cache : 0;
    std::string out = "{\"input_tokens\":" + std::to_string(usage.prompt - told) +
                      ",\"output_tokens\":" + std::to_string(usage.completion);
    if (facts_.details)
      out += ",\"cache_creation_input_tokens\":" + std::to_string(usage.created_cache) +
             ",\"cache_read_input_tokens\":" + std::to_string(usage.cached);
    return out + "}";
  }

  AnswerFacts facts_;
  bool in_block_ = false;
};

}  // namespace

std::unique_ptr<Answer> messages_answer(AnswerFacts facts) {
  return std::make_unique<MessagesAnswer>(std::move(facts));
}

}  // namespace wg::replica
