#include "dialect/body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "dialect/test_requests.h"

namespace wg::dialect {
namespace {

using testing::HasSubstr;

struct ErrorRow {
  const char* body;
  const char* says;
};

TEST(InspectErrors, SayWhatAndWhere) {
  const ErrorRow rows[] = {
      {"", "byte 0"},
      {"   ", "byte 0"},
      {"[1]", "no object"},
      {"\"x\"", "no object"},
      {"{\"model\":\"a\"", "byte 12"},
      {"{\"model\" \"a\"}", "no ':' behind a key, at byte 9"},
      {"{\"a\":1,}", "byte 7"},
      {"{\"a\":1}x", "more behind the end of the value, at byte 7"},
      {"{\"a\":1}{}", "byte 7"},
      {"{\"a\":tru}", "byte 5"},
      {"{\"a\":01}", "byte 5"},
      {"{\"a\":[1 2]}", "byte 8"},
      {"{\"a\":[1}}", "byte 7"},
      {"{\"a\":\"b}", "a string without end, at byte 5"},
      {"{\"a\":\"b\nc\"}", "a control character inside a string, at byte 7"},
      {"{\"a\":\"\xC3(\"}", "not UTF-8, at byte 6"},
      {"{\"a\":\"\xED\xA0\x80\"}", "not UTF-8, at byte 6"},
      {"\xFF\xFE{\0}\0", "not UTF-8, at byte 0"},
      {"{\"model\":5}", "\"model\" must be a string, at byte 9"},
      {"{\"model\":null}", "must be a string"},
      {"{\"model\":\"a\",\"stream\":true,\"model\":\"b\"}", "\"model\" stands twice"},
      {"{\"model\":\"a\",\"mod\\u0065l\":\"b\"}", "\"model\" stands twice"},
      {"{\"x\":1,\"y\":{\"x\":2},\"x\":3}", "\"x\" stands twice"},
      {"\xEF\xBB\xBF{\"a\":1}x", "byte 10"},
  };
  for (const ErrorRow& row : rows)
    for (const Api api : {Api::chat, Api::messages, Api::other}) {
      const Result<BodyFacts> facts = inspect_text(api, row.body);
      ASSERT_FALSE(facts.has_value()) << row.body;
      EXPECT_EQ(facts.error().status, 400) << row.body;
      EXPECT_EQ(facts.error().fault, Fault::client) << row.body;
      EXPECT_THAT(facts.error().what, HasSubstr(row.says)) << row.body;
    }
}

TEST(InspectErrors, NestingTooDeep) {
  const std::string deep = "{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}";
  const Result<BodyFacts> facts = inspect_text(Api::chat, deep);
  ASSERT_FALSE(facts.has_value());
  EXPECT_THAT(facts.error().what, HasSubstr("nesting too deep"));
}

TEST(Inspect, FindsWhatEditsNeed) {
  const std::string body =
      R"( { "stream" : true , "mod\u0065l" : "gpt-\u0034o" , "stream_options":{"include_usage":false}})";
  const BodyFacts facts = facts_of(Api::chat, body);
  EXPECT_EQ(facts.model, "gpt-4o");
  EXPECT_EQ(body.substr(facts.model_value.offset, facts.model_value.length), "\"gpt-\\u0034o\"");
  EXPECT_EQ(facts.first_member, 2u);
  EXPECT_TRUE(facts.stream);
  EXPECT_FALSE(facts.include_usage);
  EXPECT_EQ(body.substr(facts.include_usage_value.offset, facts.include_usage_value.length), "false");
  EXPECT_EQ(body.substr(facts.stream_options.offset, facts.stream_options.length), "{\"include_usage\":false}");
  EXPECT_FALSE(facts.is_empty_object);
  EXPECT_TRUE(facts_of(Api::chat, "{ }").is_empty_object);
}

TEST(Inspect, PassesOverAByteOrderMark) {
  const std::string body = "\xEF\xBB\xBF{\"model\":\"m\"}";
  const BodyFacts facts = facts_of(Api::chat, body);
  EXPECT_EQ(body.substr(facts.model_value.offset, facts.model_value.length), "\"m\"");
  EXPECT_EQ(facts.first_member, 4u);
}

TEST(Inspect, OtherPathsAreOnlySearchedForTheirModel) {
  const BodyFacts facts = facts_of(Api::other, R"({"model":"e","input":["a","b"],"session_id":"s"})");
  EXPECT_EQ(facts.model, "e");
  EXPECT_FALSE(facts.fingerprint);
  EXPECT_EQ(facts.keys.session, "");
}

TEST(Inspect, MaxTokensOfEveryDialect) {
  EXPECT_EQ(facts_of(Api::chat, R"({"max_tokens":5})").max_tokens, 5);
  EXPECT_EQ(facts_of(Api::chat, R"({"max_tokens":5,"max_completion_tokens":7})").max_tokens, 7);
  EXPECT_EQ(facts_of(Api::chat, R"({"max_completion_tokens":7,"max_tokens":5})").max_tokens, 7);
  EXPECT_EQ(facts_of(Api::responses, R"({"max_output_tokens":9})").max_tokens, 9);
  EXPECT_EQ(facts_of(Api::chat, R"({"max_tokens":null})").max_tokens, 0);
  EXPECT_EQ(facts_of(Api::chat, R"({"max_tokens":-3})").max_tokens, 0);
}

struct SizeRow {
  Api api;
  const char* body;
  std::int64_t bytes;
};

TEST(TextBytes, CountWhatBecomesPrompt) {
  const SizeRow rows[] = {
      {Api::chat, R"({"messages":[{"role":"user","content":"12345"}]})", 5},
      {Api::chat, R"({"messages":[{"role":"user","content":"a\nb\u00e9\ud83d\ude42"}]})", 9},
      {Api::chat,
       R"({"messages":[{"role":"user","content":[{"type":"text","text":"123"},{"type":"text","text":"45"}]}]})", 5},
      {Api::chat,
       R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:xxxxxxxx"}}]}]})", 0},
      {Api::chat,
       R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}]}]})",
       3},
      {Api::chat, R"({"messages":[],"tools":[{"a":1}]})", 9},
      {Api::chat, R"({"messages":[],"tools":[]})", 0},
      {Api::messages, R"({"system":"12","messages":[{"role":"user","content":"345"}]})", 5},
      {Api::messages,
       R"({"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"AAAAAAAA"}}]}]})",
       0},
      {Api::messages,
       R"({"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","data":"12345"}}]}]})", 5},
      {Api::messages,
       R"({"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"n","input":{"a":1}}]}]})", 8},
      {Api::messages,
       R"({"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"12"},{"type":"tool_result","content":[{"type":"text","text":"345"}]}]}]})",
       5},
      {Api::messages,
       R"({"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"123","signature":"xxxxxxx"}]}]})",
       3},
      {Api::messages,
       R"({"system":[{"type":"text","text":"x-anthropic-billing-header: a;"},{"type":"text","text":"12"}]})", 2},
      {Api::responses, R"({"instructions":"12","input":"345"})", 5},
      {Api::responses,
       R"({"input":[{"type":"function_call","name":"n","arguments":"123","call_id":"zz"},{"type":"function_call_output","output":"4"},{"type":"reasoning","encrypted_content":"zzzz","summary":[{"type":"summary_text","text":"5"}]}]})",
       6},
      {Api::completions, R"({"prompt":"12345"})", 5},
      {Api::completions, R"({"prompt":["12","345"]})", 5},
      {Api::completions, R"({"prompt":[1,22,333]})", 12},
      {Api::completions, R"({"prompt":[[1,22],[333]]})", 12},
      {Api::completions, R"({"prompt":null})", 0},
  };
  for (const SizeRow& row : rows) EXPECT_EQ(facts_of(row.api, row.body).text_bytes, row.bytes) << row.body;
}

SessionKey fingerprint(Api api, std::string_view body) { return facts_of(api, body).fingerprint; }

TEST(Fingerprint, BlocksAndStringsHashAlike) {
  const SessionKey plain =
      fingerprint(Api::messages, R"({"model":"m","system":"s","messages":[{"role":"user","content":"hé"}]})");
  EXPECT_TRUE(plain);
  for (
      const char* same : {
          R"({"model":"m","system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"hé","cache_control":{"type":"ephemeral"}}]}]})",
          R"({"messages":[{"content":"h\u00e9","role":"user"}],"system":"s","model":"m","temperature":1})",
          R"({"model":"m","system":"s","messages":[{"role":"user","content":"hé"},{"role":"assistant","content":"a"},{"role":"user","content":"b"}]})",
          R"({"model":"m","system":[{"type":"text","text":"x-anthropic-billing-header: 1"},{"type":"text","text":"s"}],"messages":[{"role":"user","content":"hé"}]})",
          R"({"model":"m","system":"x-anthropic-billing-header: 2\ns","messages":[{"role":"user","content":"hé"}]})",
      })
    EXPECT_EQ(fingerprint(Api::messages, same), plain) << same;
  for (const char* other : {
           R"({"model":"n","system":"s","messages":[{"role":"user","content":"hé"}]})",
           R"({"model":"m","system":"t","messages":[{"role":"user","content":"hé"}]})",
           R"({"model":"m","system":"s","messages":[{"role":"user","content":"he"}]})",
           R"({"model":"m","system":"s","messages":[{"role":"user","content":"hé"},{"role":"user","content":"b"}]})",
           R"({"model":"m","messages":[{"role":"user","content":"shé"}]})",
       })
    EXPECT_NE(fingerprint(Api::messages, other), plain) << other;
}

TEST(Fingerprint, NothingToHashIsZero) {
  EXPECT_FALSE(fingerprint(Api::chat, R"({"model":"m"})"));
  EXPECT_FALSE(fingerprint(Api::chat, R"({"model":"m","messages":[]})"));
  EXPECT_FALSE(fingerprint(Api::chat, R"({"model":"m","messages":[{"role":"user","content":""}]})"));
  EXPECT_FALSE(fingerprint(Api::completions, R"({"model":"m","prompt":""})"));
}

TEST(Fingerprint, ImagesCountByLengthAndEnds) {
  const auto image = [](const std::string& data) {
    return R"({"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":")" + data +
           R"("},"cache_control":null},{"type":"text","text":"what is it"}]}]})";
  };
  EXPECT_EQ(fingerprint(Api::messages, image("AAAA")), fingerprint(Api::messages, image("AAAA")));
  EXPECT_NE(fingerprint(Api::messages, image("AAAA")), fingerprint(Api::messages, image("AAAB")));
  EXPECT_NE(fingerprint(Api::messages, image(std::string(5000, 'A'))),
            fingerprint(Api::messages, image(std::string(5004, 'A'))));
}

TEST(Fingerprint, AGrowingPromptKeepsItsFirstKilobyte) {
  const std::string start(1024, 'p');
  const auto prompt = [](const std::string& text) { return "{\"model\":\"m\",\"prompt\":\"" + text + "\"}"; };
  EXPECT_EQ(fingerprint(Api::completions, prompt(start)), fingerprint(Api::completions, prompt(start + " more")));
  EXPECT_NE(fingerprint(Api::completions, prompt(start)), fingerprint(Api::completions, prompt("q" + start)));
  EXPECT_FALSE(facts_of(Api::completions, prompt(start)).head);
}

TEST(Head, IsSystemTextAndTools) {
  const auto head = [](Api api, const char* body) { return facts_of(api, body).head; };
  const SessionKey one = head(
      Api::chat, R"({"tools":[{"a":1}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"1"}]})");
  EXPECT_TRUE(one);
  EXPECT_EQ(
      one,
      head(
          Api::chat,
          R"({"tools":[{"a":1}],"messages":[{"role":"system","content":[{"type":"text","text":"s"}]},{"role":"user","content":"2"}]})"));
  EXPECT_NE(one, head(Api::chat, R"({"tools":[{"a":2}],"messages":[{"role":"system","content":"s"}]})"));
  EXPECT_NE(one, head(Api::chat, R"({"tools":[{"a":1}],"messages":[{"role":"system","content":"t"}]})"));
  EXPECT_FALSE(head(Api::chat, R"({"messages":[{"role":"user","content":"1"},{"role":"system","content":"late"}]})"));
}

TEST(Background, OnlySmallCallsWithoutToolsOrHistory) {
  const auto is_background = [](Api api, const std::string& body) { return facts_of(api, body).is_background; };
  const std::string title = R"("messages":[{"role":"user","content":"fix the build"}],)";
  const std::string schema = R"("response_format":{"type":"json_schema"})";
  EXPECT_TRUE(is_background(Api::chat, "{" + title + schema + "}"));
  EXPECT_FALSE(is_background(Api::chat, "{" + title + R"("tools":[{"a":1}],)" + schema + "}"));
  EXPECT_FALSE(is_background(Api::chat, "{" + title + R"("stream":true})"));
  EXPECT_TRUE(is_background(Api::messages, "{" + title + R"("max_tokens":1})"));
  EXPECT_FALSE(is_background(Api::messages, "{" + title + R"("max_tokens":16})"));
  EXPECT_FALSE(is_background(Api::count_tokens, "{" + title + R"("max_tokens":1})"));
  const std::string history = R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],)";
  EXPECT_FALSE(is_background(Api::chat, history + schema + "}"));
  const std::string large = R"({"messages":[{"role":"user","content":")" + std::string(20'000, 'x') + R"("}],)";
  EXPECT_FALSE(is_background(Api::chat, large + schema + "}"));
}

TEST(BodyKeys, AreReadWhereverClientsPutThem) {
  const auto keys = [](const char* body) { return facts_of(Api::responses, body).keys; };
  EXPECT_EQ(keys(R"({"conversation":"c"})").conversation, "c");
  EXPECT_EQ(keys(R"({"conversation":{"id":"c"}})").conversation, "c");
  EXPECT_EQ(keys(R"({"promptCacheKey":"b","prompt_cache_key":"a"})").prompt_cache_key, "a");
  EXPECT_EQ(keys(R"({"promptCacheKey":"b"})").prompt_cache_key, "b");
  EXPECT_EQ(keys(R"({"metadata":{"session_id":"m"},"client_metadata":{"session_id":"s","thread_id":"t"}})").session,
            "t");
  EXPECT_EQ(keys(R"({"session_id":"with space","metadata":{"conversation_id":"m"}})").session, "m");
  EXPECT_EQ(keys(R"({"session_id":5})").session, "");
  EXPECT_EQ(keys(R"({"previous_response_id":"resp_1"})").previous_response_id, "resp_1");
  EXPECT_EQ(keys(R"({"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"abc\"}"}})").user_session, "abc");
  EXPECT_EQ(
      keys(R"({"metadata":{"user_id":"user_ab_account__session_01234567-89ab-4cde-8f01-23456789abcd"}})").user_session,
      "01234567-89ab-4cde-8f01-23456789abcd");
  EXPECT_EQ(keys(R"({"metadata":{"user_id":"user_ab_session_nope"}})").user_session, "");
  EXPECT_EQ(keys(R"({"metadata":{"user_id":"{broken"}})").user_session, "");
  EXPECT_EQ(keys(R"({"metadata":null,"client_metadata":[1]})").session, "");
}

// A figure, not a limit: sanitizers and busy machines stretch it. Shown with --gtest_filter=Cost.*.
TEST(Cost, OfALargeBody) {
  std::string messages = R"({"role":"user","content":"start"})";
  for (int turn = 0; messages.size() < 400'000 - 60'000; ++turn) {
    messages +=
        R"(,{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{"path":"a.cpp"}}]},)";
    messages += R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":)" +
                nlohmann::json(written_out(1800, std::to_string(turn))).dump() + "}]}";
  }
  OrderedJson tools = OrderedJson::array();
  while (tools.dump().size() < 60'000)
    tools.push_back(
        {{"name", "t"}, {"input_schema", {{"type", "object"}, {"properties", {{"p", {{"type", "string"}}}}}}}});
  const std::string body =
      R"({"model":"m","system":"s","tools":)" + tools.dump() + R"(,"messages":[)" + messages + "]}";
  facts_of(Api::messages, body);
  std::string padded = body + std::string(body_padding, ' ');
  const std::string_view text = std::string_view(padded).substr(0, body.size());
  double best_us = 1e9;
  for (int round = 0; round < 200; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const auto facts = inspect(Api::messages, text);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(facts.has_value());
    best_us = std::min(best_us, took.count());
  }
  RecordProperty("best_us", static_cast<int>(best_us));
  std::printf("inspect: %zu bytes in %.0f us\n", body.size(), best_us);
}

}  // namespace
}  // namespace wg::dialect
