#include "replica/answers.h"

namespace wg::replica {
namespace {

class ResponsesAnswer : public Answer {
 public:
  explicit ResponsesAnswer(AnswerFacts facts) : facts_(std::move(facts)) {}

  void open(std::string& out) override {
    event(out, "response.created", "\"response\":" + response("in_progress", "[]", nullptr));
    event(out, "response.in_progress", "\"response\":" + response("in_progress", "[]", nullptr));
  }

  void first(std::string&, const Usage&) override {}

  void text(std::string& out, std::string_view more, const End* end) override {
    if (!started_) start_text(out);
    if (!more.empty()) {
      text_ += more;
      event(out, "response.output_text.delta",
            "\"content_index\":0,\"delta\":" + quoted(more) + ",\"item_id\":" + quoted(item_id()) +
                ",\"logprobs\":[],\"output_index\":0");
    }
    if (end) this->end(out, *end);
  }

  void tool(std::string& out) override {
    started_ = true;
    event(out, "response.output_item.added", "\"item\":" + call("in_progress", "") + ",\"output_index\":0");
  }

  void arguments(std::string& out, std::string_view more, const End* end) override {
    if (!more.empty()) {
      text_ += more;
      event(out, "response.function_call_arguments.delta",
            "\"delta\":" + quoted(more) + ",\"item_id\":" + quoted(call_item_id()) + ",\"output_index\":0");
    }
    if (end) this->end(out, *end);
  }

  void end(std::string& out, const End& end) override {
    if (facts_.tool.empty())
      end_text(out);
    else
      end_call(out);
    event(out, "response.completed", "\"response\":" + whole(text_, text_, end));
  }

  std::string whole(std::string_view text, std::string_view arguments, const End& end) override {
    const std::string item = facts_.tool.empty() ? message("completed", text) : call("completed", arguments);
    return response(end.ending == Ending::length ? "incomplete" : "completed", "[" + item + "]", &end);
  }

 private:
  // vLLM's members stand in the order of their names: `text` comes behind the number.
  void event(std::string& out, std::string_view type, const std::string& members, const std::string& text = "") {
    out.append("event: ").append(type).append("\ndata: {").append(members).append(",\"sequence_number\":");
    out.append(std::to_string(sequence_++)).append(text).append(",\"type\":\"").append(type).append("\"}\n\n");
  }

  std::string item_id() const { return "msg_" + facts_.part_id; }
  std::string call_item_id() const { return "fc_" + facts_.part_id; }

  void start_text(std::string& out) {
    started_ = true;
    event(
        out, "response.output_item.added",
        "\"item\":{\"id\":" + quoted(item_id()) +
            R"(,"content":[],"role":"assistant","status":"in_progress","type":"message","phase":null},"output_index":0)");
    event(out, "response.content_part.added",
          "\"content_index\":0,\"item_id\":" + quoted(item_id()) +
              R"(,"output_index":0,"part":{"annotations":[],"text":"","type":"output_text","logprobs":[]})");
  }

  void end_text(std::string& out) {
    if (!started_) start_text(out);
    const std::string item = "\"content_index\":0,\"item_id\":" + quoted(item_id());
    event(out, "response.output_text.done", item + ",\"logprobs\":[],\"output_index\":0", ",\"text\":" + quoted(text_));
    event(out, "response.content_part.done", item + ",\"output_index\":0,\"part\":" + part(text_));
    event(out, "response.output_item.done", "\"item\":" + message("completed", text_) + ",\"output_index\":0");
  }

  void end_call(std::string& out) {
    if (!started_) tool(out);
    event(out, "response.function_call_arguments.done",
          "\"arguments\":" + quoted(text_) + ",\"item_id\":" + quoted(call_item_id()) +
              ",\"name\":" + quoted(facts_.tool) + ",\"output_index\":0");
    event(out, "response.output_item.done", "\"item\":" + call("completed", text_) + ",\"output_index\":0");
  }

  static std::string part(std::string_view text) {
    return "{\"annotations\":[],\"text\":" + quoted(text) + ",\"type\":\"output_text\",\"logprobs\":null}";
  }
  std::string message(std::string_view status, std::string_view text) const {
    return "{\"id\":" + quoted(item_id()) + ",\"content\":[" + part(text) +
           "],\"role\":\"assistant\",\"status\":" + quoted(status) + ",\"type\":\"message\",\"phase\":null}";
  }
  std::string call(std::string_view status, std::string_view arguments) const {
    return "{\"arguments\":" + quoted(arguments) + ",\"call_id\":" + quoted("call_" + facts_.part_id) +
           ",\"name\":" + quoted(facts_.tool) + ",\"type\":\"function_call\",\"id\":" + quoted(call_item_id()) +
           ",\"namespace\":null,\"status\":" + quoted(status) + "}";
  }

  static std::string usage(const Usage& usage) {
    return "{\"input_tokens\":" + std::to_string(usage.prompt) +
           ",\"input_tokens_details\":{\"cached_tokens\":" + std::to_string(usage.cached) +
           ",\"cache_write_tokens\":" + std::to_string(usage.created_cache) +
           R"(,"input_tokens_per_turn":[],"cached_tokens_per_turn":[]},"output_tokens":)" +
           std::to_string(usage.completion) +
           R"(,"output_tokens_details":{"reasoning_tokens":0,"tool_output_tokens":0,"output_tokens_per_turn":[],)"
           R"("tool_output_tokens_per_turn":[]},"total_tokens":)" +
           std::to_string(usage.prompt + usage.completion) + "}";
  }

  static std::string or_null(const std::string& text) { return text.empty() ? "null" : quoted(text); }

  std::string response(std::string_view status, const std::string& output, const End* end) const {
    const bool cut = end && end->ending == Ending::length;
    return "{\"id\":" + quoted(facts_.id) + ",\"created_at\":" + std::to_string(facts_.created) +
           ",\"incomplete_details\":" + (cut ? R"({"reason":"max_output_tokens"})" : "null") +
           ",\"instructions\":" + or_null(facts_.instructions) +
           ",\"metadata\":null,\"model\":" + quoted(facts_.model) + R"(,"object":"response","output":)" + output +
           R"(,"parallel_tool_calls":true,"temperature":1.0,"tool_choice":)" +
           (facts_.has_tools ? "\"auto\"" : "\"none\"") +
           R"(,"tools":[],"top_p":1.0,"background":false,"max_output_tokens":)" + std::to_string(facts_.max_tokens) +
           ",\"max_tool_calls\":null,\"previous_response_id\":" + or_null(facts_.previous_response_id) +
           R"(,"prompt":null,"reasoning":null,"service_tier":"auto","status":)" + quoted(status) +
           R"(,"text":null,"top_logprobs":null,"truncation":"disabled","usage":)" + (end ? usage(end->usage) : "null") +
           R"(,"user":null,"presence_penalty":0.0,"frequency_penalty":0.0,"kv_transfer_params":null,)"
           R"("ec_transfer_params":null,"input_messages":null,"output_messages":null})";
  }

  AnswerFacts facts_;
  std::string text_;  // of the answer, or a call's arguments
  std::uint64_t sequence_ = 0;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<Answer> responses_answer(AnswerFacts facts) {
  return std::make_unique<ResponsesAnswer>(std::move(facts));
}

}  // namespace wg::replica
