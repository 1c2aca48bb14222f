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
