#include "replica/answers.h"

namespace wg::replica {
namespace {

class CompletionsAnswer : public Answer {
 public:
  explicit CompletionsAnswer(AnswerFacts facts) : facts_(std::move(facts)) {
    before_choices_ = "{\"id\":" + quoted(facts_.id) +
                      ",\"object\":\"text_completion\",\"created\":" + std::to_string(facts_.created) +
                      ",\"model\":" + quoted(facts_.model) + ",\"choices\":[";
  }

  void first(std::string&, const Usage&) override {}

  void text(std::string& out, std::string_view more, const End* end) override {
    out.append("data: ").append(before_choices_).append("{\"index\":0,\"text\":").append(quoted(more));
    out.append(",\"logprobs\":null,\"finish_reason\":").append(end ? quoted(openai_name(end->ending)) : "null");
    out += R"(,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}])";
    if (!end) {
      out += "}\n\n";
      return;
    }
    if (facts_.include_usage) {
      out += "}\n\ndata: " + before_choices_ + "],\"usage\":{" + counts(end->usage);
      if (facts_.details)
        out += ",\"prompt_tokens_details\":{\"cached_tokens\":" + std::to_string(end->usage.cached) + "}";
      out += "}";
    }
    out += ",\"system_fingerprint\":" + quoted(facts_.fingerprint) + "}\n\ndata: [DONE]\n\n";
  }

  void tool(std::string&) override {}
  void arguments(std::string& out, std::string_view more, const End* end) override { text(out, more, end); }
  void end(std::string& out, const End& end) override { text(out, "", &end); }

  std::string whole(std::string_view text, std::string_view, const End& end) override {
    std::string out = before_choices_ + "{\"index\":0,\"text\":" + quoted(text) +
                      ",\"logprobs\":null,\"finish_reason\":" + quoted(openai_name(end.ending)) +
                      R"(,"stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null,)"
                      R"("routed_experts":null}],"service_tier":null,"system_fingerprint":)" +
                      quoted(facts_.fingerprint) + ",\"usage\":{" + counts(end.usage) + ",\"prompt_tokens_details\":";
    if (facts_.details)
      out += "{\"cached_tokens\":" + std::to_string(end.usage.cached) +
             ",\"created_cache_tokens\":null,\"multimodal_tokens\":null}";
    else
      out += "null";
    return out +
           R"(,"completion_tokens_details":null},"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null})";
  }

 private:
  static std::string counts(const Usage& usage) {
    return "\"prompt_tokens\":" + std::to_string(usage.prompt) +
           ",\"total_tokens\":" + std::to_string(usage.prompt + usage.completion) +
           ",\"completion_tokens\":" + std::to_string(usage.completion);
  }

  AnswerFacts facts_;
  std::string before_choices_;
};

}  // namespace

std::unique_ptr<Answer> completions_answer(AnswerFacts facts) {
  return std::make_unique<CompletionsAnswer>(std::move(facts));
}

}  // namespace wg::replica
