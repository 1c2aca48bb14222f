#include "replica/tokenizer.h"

#include <gtest/gtest.h>

namespace wg::replica {
namespace {

TokenList message(std::string_view role, std::string_view text) {
  TokenList tokens;
  append_message(tokens, role, text);
  return tokens;
}

std::string text_of(const TokenList& tokens) {
  std::string text;
  for (const auto token : tokens) append_bytes(text, token);
  return text;
}

TEST(Tokenizer, FourBytesAToken) {
  for (const auto& [text, tokens] : {std::pair<std::string, std::size_t>{"", 0}, {"a", 1}, {"abcd", 1}, {"abcde", 2}}) {
    TokenList list;
    append_text(list, text);
    EXPECT_EQ(list.size(), tokens) << text;
    EXPECT_EQ(text_of(list), text);
  }
  EXPECT_EQ(message("user", "abcdefgh").size(), 5u);  // begin, role, two of text, end
}

TEST(Tokenizer, BytesComeBack) {
  const std::string text = "Grüße, 世界 🙂 and \"quotes\"\n";
  EXPECT_EQ(text_of(message("user", text)), text);
}

TEST(Tokenizer, LongerHistoriesBeginAlike) {
  TokenList shorter = message("system", "be brief"), longer = shorter;
  append_message(shorter, "user", "hello");
  append_message(longer, "user", "hello");
  append_message(longer, "assistant", "Kavo lom");
  append_message(longer, "user", "go on");
  ASSERT_GT(longer.size(), shorter.size());
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST(Tokenizer, AnEchoedAnswerHasTheTokensThatWereGenerated) {
  TokenList generated;
  append_answer_opening(generated);
  append_text(generated, "Kavo lom rit");
  generated.push_back(end_token());
  EXPECT_EQ(generated, message("assistant", "Kavo lom rit"));
}

TEST(Tokenizer, RolesDiffer) {
  EXPECT_NE(message("user", "x"), message("tool", "x"));
  EXPECT_NE(message("user", "x"), message("system", "x"));
}

}  // namespace
}  // namespace wg::replica
