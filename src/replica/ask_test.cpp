#include "replica/ask.h"

#include <gtest/gtest.h>

#include "replica/plan.h"
#include "replica/prompt.h"

namespace wg::replica {
namespace {

using dialect::Api;

Ask ask_of(Api api, std::string_view body) {
  auto ask = read_ask(api, body);
  EXPECT_TRUE(ask.has_value()) << body << (ask ? "" : ask.error().message);
  return ask.value_or(Ask());
}

bool begins_with(const TokenList& whole, const TokenList& beginning) {
  return whole.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), whole.begin());
}

TEST(Ask, TheDialectsSayTheSame) {
  const std::string chat = R"({"messages":[{"role":"system","content":"S"},{"role":"user","content":"U"}]})";
  const std::string messages = R"({"system":"S","messages":[{"role":"user","content":[{"type":"text","text":"U"}]}]})";
  const std::string responses = R"({"instructions":"S","input":"U"})";
  const TokenList tokens = tokens_of(ask_of(Api::chat, chat));
  EXPECT_EQ(tokens_of(ask_of(Api::messages, messages)), tokens);
  EXPECT_EQ(tokens_of(ask_of(Api::responses, responses)), tokens);
  EXPECT_EQ(digest_of(ask_of(Api::messages, messages)), digest_of(ask_of(Api::chat, chat)));
}

TEST(Ask, TheBillingLineIsNoPrompt) {
  const auto with = ask_of(Api::messages, R"({"system":[{"type":"text","text":"x-anthropic-billing-header: 17"},
      {"type":"text","text":"S"}],"messages":[]})");
  EXPECT_EQ(tokens_of(with), tokens_of(ask_of(Api::messages, R"({"system":"S","messages":[]})")));
}

TEST(Ask, LimitsAndFlags) {
  const Ask ask = ask_of(Api::chat, R"({"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true},
      "max_completion_tokens":7,"ignore_eos":true,"cache_salt":"s"})");
  EXPECT_EQ(ask.model, "m");
  EXPECT_TRUE(ask.stream && ask.include_usage && ask.ignore_eos);
  EXPECT_EQ(ask.max_tokens, std::optional<std::int64_t>(7));
  EXPECT_EQ(ask.cache_salt, "s");
}

TEST(Ask, PromptsOfCompletions) {
  EXPECT_EQ(ask_of(Api::completions, R"({"prompt":[3,4,5]})").raw, (TokenList{3, 4, 5}));
  EXPECT_EQ(ask_of(Api::completions, R"({"prompt":[[3,4,5]]})").raw, (TokenList{3, 4, 5}));
  EXPECT_EQ(ask_of(Api::completions, R"({"prompt":["abcdefgh"]})").raw.size(), 2u);
}

TEST(Ask, WhatIsWrong) {
  struct Case {
    Api api;
    std::string_view body, type;
  };
  for (const auto& [api, body, type] : {Case{Api::chat, "{", "Bad Request"},
                                        {Api::chat, "[]", "Bad Request"},
                                        {Api::chat, "{}", "Bad Request"},
                                        {Api::messages, R"({"model":"m"})", "Bad Request"},
                                        {Api::responses, "{}", "Bad Request"},
                                        {Api::completions, R"({"prompt":""})", "BadRequestError"},
                                        {Api::chat, R"({"messages":[],"max_tokens":0})", "BadRequestError"},
                                        {Api::chat, R"({"messages":[],"n":2})", "BadRequestError"}}) {
    const auto ask = read_ask(api, body);
    ASSERT_FALSE(ask.has_value()) << body;
    EXPECT_EQ(ask.error().status, 400);
    EXPECT_EQ(ask.error().type, type) << body;
  }
}

// ---- plans ----

constexpr sim::TokenRange lengths{120, 256};

Plan plan(std::string_view members, Wishes wishes = {}, std::uint64_t seed = 1) {
  const Ask ask = ask_of(Api::chat, R"({"messages":[{"role":"user","content":"U"}])" + std::string(members) + "}");
  return plan_answer(ask, wishes, lengths, digest_of(ask), seed);
}

std::string text_of(const Plan& plan) {
  std::string text;
  for (const auto token : plan.tokens) append_bytes(text, token);
  return text;
}

TEST(Plan, Lengths) {
  EXPECT_EQ(plan(R"(,"max_tokens":8)").tokens.size(), 8u);
  EXPECT_EQ(plan(R"(,"max_tokens":8)").ending, Ending::length);
  EXPECT_EQ(plan(R"(,"max_tokens":9000,"ignore_eos":true)").tokens.size(), 9000u);
  const Plan drawn = plan(R"(,"max_tokens":32000)");
  EXPECT_GE(drawn.tokens.size(), 120u);
  EXPECT_LE(drawn.tokens.size(), 256u);
  EXPECT_EQ(drawn.ending, Ending::stop);
  EXPECT_EQ(plan("", {.tokens = 5, .ending = {}}).tokens.size(), 5u);
  EXPECT_EQ(plan(R"(,"max_tokens":8)", {.tokens = 500, .ending = {}}).tokens.size(), 8u);
  EXPECT_EQ(plan(R"(,"max_tokens":8)", {.tokens = 500, .ending = {}}).ending, Ending::length);
  EXPECT_EQ(plan(R"(,"max_tokens":8)", {.tokens = 4, .ending = {}}).ending, Ending::stop);
}

TEST(Plan, SameSeedSameAnswer) {
  EXPECT_EQ(plan("", {}, 1).tokens, plan("", {}, 1).tokens);
  EXPECT_NE(plan("", {}, 1).tokens, plan("", {}, 2).tokens);
}

TEST(Plan, TextSurvivesTrimming) {
  const std::string text = text_of(plan(R"(,"max_tokens":20)"));
  EXPECT_EQ(text.size(), 80u);
  EXPECT_NE(text.front(), ' ');
  EXPECT_NE(text.back(), ' ');
}

TEST(Plan, NextTurnHitsPromptAndAnswer) {
  for (const Ending ending : {Ending::stop, Ending::length, Ending::tool_calls}) {
    const Ask first = ask_of(Api::chat, R"({"messages":[{"role":"user","content":"U"}]})");
    const Plan answer = plan("", {.tokens = 30, .ending = ending});
    TokenList so_far = tokens_of(first);
    so_far.insert(so_far.end(), answer.tokens.begin(), answer.tokens.end());
    const std::string text = text_of(answer);
    Message echoed{"assistant", text};
    Ask next = first;
    if (answer.is_tool_call()) {
      const std::string arguments = text.substr(answer.arguments_begin, answer.arguments_end - answer.arguments_begin);
      const std::string call =
          R"({"role":"assistant","content":null,"tool_calls":[{"function":{"name":"made_up_tool",)" +
          std::string("\"arguments\":\"{\\\"text\\\":\\\"") + arguments.substr(9, arguments.size() - 11) +
          "\\\"}\"}}]}";
      echoed = ask_of(Api::chat, R"({"messages":[)" + call + "]}").messages.front();
      const std::string use =
          R"({"role":"assistant","content":[{"type":"tool_use","name":"made_up_tool","input":)" + arguments + "}]}";
      EXPECT_EQ(ask_of(Api::messages, R"({"messages":[)" + use + "]}").messages.front().text, text);
    }
    next.messages.push_back(echoed);
    next.messages.push_back({"user", "more"});
    EXPECT_TRUE(begins_with(tokens_of(next), so_far)) << static_cast<int>(ending) << " " << text;
    EXPECT_EQ(answer.tokens.size(), 30u);
  }
}

}  // namespace
// Once-found by fuzzing: these threw, or ran out of stack.
TEST(Ask, OddShapesAreNoAccident) {
  const auto chat = read_ask(Api::chat, R"({"messages":[{"role":"assistant","tool_calls":["x",5,{"function":"f"}]}]})");
  ASSERT_TRUE(chat);
  EXPECT_EQ(chat->messages.size(), 1u);
  const auto tool = read_ask(Api::messages, R"({"messages":[{"content":[{"type":"tool_use","name":5}]}]})");
  ASSERT_TRUE(tool);
  EXPECT_EQ(tool->messages[0].text, R"(<tool_call>{"name":"","arguments":{}}</tool_call>)");
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  EXPECT_FALSE(read_ask(Api::chat, R"({"messages":[{"content":)" + deep + "}]}"));
  EXPECT_FALSE(read_ask(Api::chat, deep));
  EXPECT_TRUE(read_ask(Api::chat, R"({"messages":[{"content":")" + std::string(500'000, '[') + "\"}]}"));
}

}  // namespace wg::replica
