// The bytes of each dialect against those of a real vLLM: the same events with the same members in the same order.
#include "replica/answers.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace wg::replica {
namespace {

using dialect::Api;
using Json = nlohmann::ordered_json;

std::string sample(const std::string& name) {
  std::ifstream file(std::string(WG_TEST_DATA) + "/engine-samples/" + name);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const auto body = all.starts_with("HTTP/") ? all.find("\r\n\r\n") + 4 : 0;
  return all.substr(body);
}

// Strings and numbers become their types; names, order, nulls, booleans and finish reasons stay.
Json shape(const Json& value, const std::string& key = "") {
  static const std::vector<std::string> kept{"type",        "object", "role",  "finish_reason",
                                             "stop_reason", "status", "reason"};
  if (value.is_object() || value.is_array()) {
    Json out = value.is_object() ? Json::object() : Json::array();
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (value.is_object())
        out[it.key()] = shape(it.value(), it.key());
      else
        out.push_back(shape(*it));
    }
    return out;
  }
  if (value.is_string() && std::ranges::find(kept, key) == kept.end()) return "text";
  return value.is_number() ? Json(0) : value;
}

// One line an event; runs of equal ones (token after token) become one.
std::vector<std::string> shapes(const std::string& stream) {
  std::vector<std::string> lines;
  std::istringstream in(stream);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with("curl")) continue;
    if (line.starts_with("data: {")) line = "data: " + shape(Json::parse(line.substr(6))).dump();
    const bool again = lines.size() >= 2 && line.starts_with("data: ") && lines.back().starts_with("event: ") &&
                       lines[lines.size() - 2] == line && lines.size() >= 3 && lines[lines.size() - 3] == lines.back();
    if (again)
      lines.pop_back();
    else if (lines.empty() || lines.back() != line)
      lines.push_back(line);
  }
  return lines;
}

AnswerFacts facts(bool details = true) {
  AnswerFacts facts;
  facts.id = "id";
  facts.part_id = "part";
  facts.created = 1'796'030'918;
  facts.model = "tiny";
  facts.fingerprint = "vllm-0.32.0";
  facts.include_usage = true;
  facts.details = details;
  facts.max_tokens = 3;
  return facts;
}

constexpr Usage usage{711, 640, 0, 8};
constexpr End cut{Ending::length, usage};

std::string streamed(Api api, const End& end = cut, AnswerFacts its_facts = facts()) {
  const auto answer = answer_in(api, its_facts);
  std::string out;
  answer->open(out);
  answer->first(out, usage);
  answer->text(out, "Kavo", nullptr);
  answer->text(out, " lom", nullptr);
  answer->text(out, " rit", &end);
  return out;
}

TEST(Answers, StreamsLookLikeVllms) {
  EXPECT_EQ(shapes(streamed(Api::chat)), shapes(sample("vllm-chat-stream-usage.sse")));
  EXPECT_EQ(shapes(streamed(Api::completions)), shapes(sample("vllm-completions-stream.sse")));
  EXPECT_EQ(shapes(streamed(Api::messages)), shapes(sample("vllm-messages-stream.sse")));
  EXPECT_EQ(shapes(streamed(Api::responses)), shapes(sample("vllm-responses-stream.sse")));
}

TEST(Answers, AbortLooksLikeVllms) {
  const auto answer = chat_answer([] {
    AnswerFacts without = facts();
    without.include_usage = false;
    return without;
  }());
  std::string out;
  answer->text(out, "Kavo", nullptr);
  answer->end(out, {Ending::abort, usage});
  const std::string real = sample("vllm-stream-while-engine-killed.sse");
  EXPECT_EQ(shapes(out), shapes(real.substr(real.find("data: "))));
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  EXPECT_NE(from, std::string::npos) << begin;
  if (from == std::string::npos) return "";
  return text.substr(from + begin.size(), text.find(end, from + begin.size()) - from - begin.size());
}

// The whole bodies, as far as they were kept: all of messages', the beginning of chat's, the ends of the others.
TEST(Answers, BodiesLookLikeVllms) {
  const std::string kept = sample("vllm-dp2-rank-tests.txt");
  const auto whole = [](Api api) { return answer_in(api, facts())->whole("Kavo", "", cut); };
  const auto text = [](const std::string& body) { return shape(Json::parse(body)).dump(); };
  EXPECT_EQ(text(whole(Api::messages)), text(between(kept, "messages 0 -> 200 ", " diff")));
  static constexpr auto tier = ",\"service_tier\"";
  EXPECT_EQ(text(between(whole(Api::chat), "", tier) + "}"),
            text(between(kept, "chat rank='abc' -> 200 ", tier) + "}"));
  const std::string completions = between(kept, "completions 0 -> 200 ", " diff"), usage_on = "\"usage\":";
  EXPECT_EQ(text("{" + usage_on + between(whole(Api::completions), usage_on, "\n")),
            text("{" + usage_on + between(completions, usage_on, "\n")));
  const std::string responses = between(kept, "responses 0 -> 200 ", " diff"), background = "\"background\":";
  EXPECT_EQ(text("{" + background + between(whole(Api::responses), background, "\n")),
            text("{" + background + between(responses, background, "\n")));
}

TEST(Answers, WithoutDetails) {
  EXPECT_EQ(streamed(Api::chat, cut, facts(false)).find("prompt_tokens_details"), std::string::npos);
  EXPECT_NE(chat_answer(facts(false))->whole("", "", cut).find("\"prompt_tokens_details\":null"), std::string::npos);
  const std::string messages = streamed(Api::messages, cut, facts(false));
  EXPECT_EQ(messages.find("cache_"), std::string::npos);
  EXPECT_NE(messages.find(R"("usage":{"input_tokens":711,"output_tokens":8})"), std::string::npos);
  EXPECT_NE(streamed(Api::responses, cut, facts(false)).find("\"cached_tokens\":640"), std::string::npos);
}

TEST(Answers, EveryEventIsJson) {
  AnswerFacts calling = facts();
  calling.tool = "a \"tool\"";
  for (const Api api : {Api::chat, Api::completions, Api::messages, Api::responses}) {
    const auto answer = answer_in(api, calling);
    const End end{Ending::tool_calls, usage};
    std::string out;
    answer->open(out);
    answer->first(out, usage);
    answer->tool(out);
    answer->arguments(out, R"({"text":"Ka)", nullptr);
    answer->arguments(out, R"(vo"})", nullptr);
    answer->end(out, end);
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);)
      EXPECT_TRUE(!line.starts_with("data: {") || Json::accept(line.substr(6))) << line;
    EXPECT_TRUE(Json::accept(answer_in(api, calling)->whole("", R"({"text":"Kavo"})", end)));
  }
}

TEST(Refusals, LookLikeVllms) {
  const Refusal range = bad_request("data_parallel_rank 2 is out of range [0, 2).");
  EXPECT_EQ(
      body_of(range, Api::chat),
      R"({"error":{"message":"data_parallel_rank 2 is out of range [0, 2).","type":"BadRequestError","param":null,"code":400}})");
  EXPECT_EQ(
      body_of(range, Api::messages),
      R"({"type":"error","error":{"type":"BadRequestError","message":"data_parallel_rank 2 is out of range [0, 2)."}})");
  EXPECT_EQ(body_of(bad_body("x"), Api::messages).substr(0, 9), R"({"error":)");
  EXPECT_EQ(events_of(engine_dead(), Api::chat),
            "data: {\"error\": {\"message\": \"EngineCore encountered an issue. See stack trace (above) for the root "
            "cause.\", "
            "\"type\": \"InternalServerError\", \"param\": null, \"code\": 500}}\n\ndata: [DONE]\n\n");
}

}  // namespace
}  // namespace wg::replica
