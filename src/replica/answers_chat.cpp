#include "replica/answers.h"

namespace wg::replica {
namespace {

class ChatAnswer : public Answer {
 public:
  explicit ChatAnswer(AnswerFacts facts) : facts_(std::move(facts)) {
    before_choices_ = "\"id\":" + quoted(facts_.id) +
                      ",\"object\":\"chat.completion.chunk\",\"created\":" + std::to_string(facts_.created) +
                      ",\"model\":" + quoted(facts_.model) + ",\"choices\":[";
  }

  void first(std::string& out, const Usage&) override {
    out += "data: {" + before_choices_ +
           R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],)"
           R"("prompt_token_ids":null,"prompt_text":null})" +
           "\n\n";
  }

  void text(std::string& out, std::string_view more, const End* end) override {
    chunk(out, "\"content\":" + quoted(more), end);
  }

  void tool(std::string& out) override {
    chunk(out,
          "\"tool_calls\":[{\"id\":" + quoted("chatcmpl-tool-" + facts_.part_id) +
              ",\"type\":\"function\",\"index\":0,\"function\":{\"name\":" + quoted(facts_.tool) +
              ",\"arguments\":\"\"}}]",
          nullptr);
  }

  void arguments(std::string& out, std::string_view more, const End* end) override {
    chunk(out, "\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":" + quoted(more) + "}}]", end);
  }

  void end(std::string& out, const End& end) override {
    chunk(out, end.ending == Ending::abort ? "" : "\"content\":\"\"", &end);
  }

  std::string whole(std::string_view text, std::string_view arguments, const End& end) override {
    std::string out = "{\"id\":" + quoted(facts_.id) +
                      ",\"object\":\"chat.completion\",\"created\":" + std::to_string(facts_.created) +
                      ",\"model\":" + quoted(facts_.model) +
                      ",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":";
    out += facts_.tool.empty() ? quoted(text) : "null";
    out += ",\"refusal\":null,\"annotations\":null,\"audio\":null,\"function_call\":null";
    if (!facts_.tool.empty())
      out += ",\"tool_calls\":[{\"id\":" + quoted("chatcmpl-tool-" + facts_.part_id) +
             ",\"type\":\"function\",\"function\":{\"name\":" + quoted(facts_.tool) +
             ",\"arguments\":" + quoted(arguments) + "}}]";
    out += ",\"reasoning\":null},\"logprobs\":null,\"finish_reason\":" + quoted(openai_name(end.ending)) +
           R"(,"stop_reason":null,"token_ids":null,"routed_experts":null}],"service_tier":null,"system_fingerprint":)" +
           quoted(facts_.fingerprint) + ",\"usage\":" + usage(end.usage);
    return out + R"(,"prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,"kv_transfer_params":null,)" +
           R"("ec_transfer_params":null,"metrics":null})";
  }

 private:
  void chunk(std::string& out, std::string_view delta, const End* end) {
    out.append("data: {").append(before_choices_).append("{\"index\":0,\"delta\":{").append(delta);
    if (!end) {
      out += "},\"logprobs\":null,\"finish_reason\":null,\"token_ids\":null}]}\n\n";
      return;
    }
    out.append("},\"logprobs\":null,\"finish_reason\":").append(quoted(openai_name(end->ending)));
    out += ",\"stop_reason\":null,\"token_ids\":null}]";
    const std::string fingerprint = ",\"system_fingerprint\":" + quoted(facts_.fingerprint);
    if (facts_.include_usage) {
      out += "}\n\ndata: {" + before_choices_ + "],\"usage\":{" + counts(end->usage);
      if (facts_.details)
        out += ",\"prompt_tokens_details\":{\"cached_tokens\":" + std::to_string(end->usage.cached) +
               ",\"created_cache_tokens\":" + std::to_string(end->usage.created_cache) + "}";
      out += "}";
    }
    out += fingerprint + "}\n\ndata: [DONE]\n\n";
  }

  static std::string counts(const Usage& usage) {
    return "\"prompt_tokens\":" + std::to_string(usage.prompt) +
           ",\"total_tokens\":" + std::to_string(usage.prompt + usage.completion) +
           ",\"completion_tokens\":" + std::to_string(usage.completion);
  }

  std::string usage(const Usage& usage) const {
    std::string out = "{" + counts(usage) + ",\"prompt_tokens_details\":";
    if (facts_.details)
      out += "{\"cached_tokens\":" + std::to_string(usage.cached) +
             ",\"created_cache_tokens\":" + std::to_string(usage.created_cache) + ",\"multimodal_tokens\":null}";
    else
      out += "null";
    return out + ",\"completion_tokens_details\":null}";
  }

  AnswerFacts facts_;
  std::string before_choices_;
};

}  // namespace

std::unique_ptr<Answer> chat_answer(AnswerFacts facts) { return std::make_unique<ChatAnswer>(std::move(facts)); }

}  // namespace wg::replica
