#include "bench/conversation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/text.h"

namespace wg::bench {
namespace {

using nlohmann::json;

Target target_of(dialect::Api api) {
  Target target;
  target.model = "a \"model\"";
  target.api = api;
  return target;
}

TEST(Text, has_its_size_and_its_seed) {
  EXPECT_EQ(made_up_text(1, 0), "");
  EXPECT_EQ(made_up_text(1, 1'000).size(), 1'000u);
  EXPECT_EQ(made_up_text(1, 100), made_up_text(1, 1'000).substr(0, 100));
  EXPECT_NE(made_up_text(1, 16), made_up_text(2, 16));
  EXPECT_EQ(json::parse("\"" + made_up_text(3, 500) + "\""), made_up_text(3, 500));
}

TEST(Text, of_events_stays_escaped) {
  using dialect::Api;
  EXPECT_EQ(escaped_text_of(R"(data: {"choices":[{"delta":{"content":"a\"b\\"}}]})", Api::chat), R"(a\"b\\)");
  EXPECT_EQ(escaped_text_of(R"(data: {"choices":[{"delta":{"content" : "x"}}]})", Api::chat), "x");
  EXPECT_EQ(escaped_text_of(R"(data: {"choices":[{"delta":{"reasoning_content":"x"}}]})", Api::chat), "");
  EXPECT_EQ(escaped_text_of(R"(data: {"choices":[{"delta":{"content":null}}]})", Api::chat), "");
  EXPECT_EQ(escaped_text_of(R"(data: {"choices":[{"delta":{"content":"cut)", Api::chat), "");
  EXPECT_EQ(escaped_text_of(R"(data: {"delta":{"type":"text_delta","text":"x"}})", Api::messages), "x");
  EXPECT_EQ(escaped_text_of(R"(data: {"delta":{"type":"thinking_delta","thinking":"x"}})", Api::messages), "");
}

TEST(Conversation, is_what_chat_completions_takes) {
  Conversation talk(target_of(dialect::Api::chat), "head");
  talk.add_user("one");
  talk.add_answer("a\\nb");
  talk.add_user("two");
  EXPECT_EQ(json::parse(talk.body(7)), json::parse(R"({"model":"a \"model\"","stream":true,
      "stream_options":{"include_usage":true},"max_tokens":7,"messages":[
      {"role":"system","content":"head"},{"role":"user","content":"one"},
      {"role":"assistant","content":"a\nb"},{"role":"user","content":"two"}]})"));
}

TEST(Conversation, is_what_messages_takes) {
  Conversation talk(target_of(dialect::Api::messages), "head");
  talk.add_user("one");
  talk.add_answer("");
  EXPECT_EQ(json::parse(talk.body(7)), json::parse(R"({"model":"a \"model\"","stream":true,"system":"head",
      "max_tokens":7,"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"-"}]})"));
}

TEST(Text, of_tool_calls) {
  using dialect::Api;
  ToolCall chat;
  for (
      const char* event :
      {R"(data: {"id":"chatcmpl-1","choices":[{"delta":{"tool_calls":[{"id":"t1","type":"function","index":0,"function":{"name":"run","arguments":""}}]}}]})",
       R"(data: {"id":"chatcmpl-1","choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":"}}]}}]})",
       R"(data: {"id":"chatcmpl-1","choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"ls\"}"}}]}}]})",
       R"(data: {"id":"chatcmpl-1","choices":[{"delta":{},"finish_reason":"tool_calls"}]})"})
    add_tool_piece(chat, event, Api::chat);
  EXPECT_EQ(chat.id, "t1");
  EXPECT_EQ(chat.name, "run");
  EXPECT_EQ(chat.arguments, R"({\"command\":\"ls\"})");
  ToolCall messages;
  for (
      const char* event :
      {R"(data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t2","name":"run","input":{}}})",
       R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}})",
       R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}})"})
    add_tool_piece(messages, event, Api::messages);
  EXPECT_EQ(messages.id, "t2");
  EXPECT_EQ(messages.arguments, R"({\"command\":\"ls\"})");
}

TEST(Conversation, tool_calls_are_answered_with_results) {
  const ToolCall call{"t1", "run", R"({\"command\":\"ls\"})"};
  for (const auto api : {dialect::Api::chat, dialect::Api::messages}) {
    Target target = target_of(api);
    target.simulated = true;
    Conversation talk(target, "head");
    talk.add_user("one");
    talk.add_answer("", call);
    talk.add_user("files");
    const json body = json::parse(talk.body(7));
    EXPECT_EQ(body["tools"].size(), 1u);
    const json &said = body["messages"].at(body["messages"].size() - 2), &result = body["messages"].back();
    if (api == dialect::Api::chat) {
      EXPECT_EQ(said["tool_calls"][0]["function"]["arguments"], R"({"command":"ls"})");
      EXPECT_EQ(result, json::parse(R"({"role":"tool","tool_call_id":"t1","content":"files"})"));
    } else {
      EXPECT_EQ(said["content"][0],
                json::parse(R"({"type":"tool_use","id":"t1","name":"run","input":{"command":"ls"}})"));
      EXPECT_EQ(result["content"][0], json::parse(R"({"type":"tool_result","tool_use_id":"t1","content":"files"})"));
    }
  }
}

TEST(Conversation, rewound_it_keeps_whole_answers) {
  Conversation talk(target_of(dialect::Api::chat), "head");  // 4 bytes
  talk.add_user("one");                                      // 7
  talk.add_answer("two");                                    // 10
  const std::string kept = talk.body(1);
  talk.add_user("three");  // 15
  talk.add_answer("four");
  EXPECT_EQ(talk.rewind(100), 19u);
  EXPECT_EQ(talk.rewind(14), 10u);
  EXPECT_EQ(talk.body(1), kept);
  talk.add_user("five");
  EXPECT_EQ(talk.rewind(0), 4u);  // the head stays
  EXPECT_EQ(json::parse(talk.body(1))["messages"].size(), 1u);
}

// Else nothing would be found in a prefix cache.
TEST(Conversation, only_grows) {
  Conversation talk(target_of(dialect::Api::chat), made_up_text(1, 100));
  talk.add_user("one");
  std::string before = talk.body(100);
  before.resize(before.size() - 2);  // ]}
  talk.add_answer("two");
  EXPECT_TRUE(talk.body(100).starts_with(before));
}

}  // namespace
}  // namespace wg::bench
