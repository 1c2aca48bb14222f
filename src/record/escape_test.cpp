#include "record/escape.h"

#include <gtest/gtest.h>

namespace wg::record {
namespace {

std::string json(std::string_view text) {
  std::string line;
  append_json_string(line, text);
  return line;
}
std::string word(std::string_view text) {
  std::string line;
  append_word(line, text);
  return line;
}
std::string sentence(std::string_view text) {
  std::string line;
  append_sentence(line, text);
  return line;
}

TEST(Escape, Json) {
  EXPECT_EQ(json("plain"), "\"plain\"");
  EXPECT_EQ(json(""), "\"\"");
  EXPECT_EQ(json("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(json("a\nb\rc\td"), R"("a\nb\rc\td")");
  EXPECT_EQ(json(std::string_view("\0\x1b[31m\x7f", 7)), R"("\u0000\u001b[31m\u007f")");
  EXPECT_EQ(json("größe 模型 🚀"), "\"größe 模型 🚀\"");
}

TEST(Escape, WordsAreQuotedWhereNeeded) {
  EXPECT_EQ(word("/v1/messages"), "/v1/messages");
  EXPECT_EQ(word("a b"), "\"a b\"");
  EXPECT_EQ(word("a=b"), "\"a=b\"");
  EXPECT_EQ(word("a\"b"), R"("a\"b")");
  EXPECT_EQ(word("a\\n"), R"("a\\n")");
  EXPECT_EQ(word("a\nb"), R"("a\nb")");
  EXPECT_EQ(word(""), "\"\"");
  EXPECT_EQ(word("ä"), "\"ä\"");
}

TEST(Escape, Sentences) { EXPECT_EQ(sentence("engine \"a\" is\ndown"), R"(engine "a" is\ndown)"); }

TEST(Escape, UnicodeThatActsAsALineEndOrTurnsTextAround) {
  EXPECT_EQ(json("a\u2028b\u2029c"), R"("a\u2028b\u2029c")");
  EXPECT_EQ(json("\xc2\x85\xc2\x9b"), R"("\u0085\u009b")");
  EXPECT_EQ(word("\u202eabc"), R"("\u202eabc")");
}

TEST(Escape, BrokenUtf8) {
  for (const char* text : {"\xff", "\xc0\x80", "\x80", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                           "\xf0\x80\x80\x80", "\xe0\x80\x80"}) {
    const std::string out = json(text);
    EXPECT_NE(out.find("\\ufffd"), std::string::npos) << out;
    for (const char c : out) EXPECT_GT(c, ' ') << out;
  }
  EXPECT_EQ(word("a\xff"), R"("a\xff")");
  EXPECT_EQ(json("\xe2\x82x"), R"("\ufffd\ufffdx")");
}

TEST(Escape, ClipsBetweenCharacters) {
  EXPECT_EQ(clipped("abc", 5), "abc");
  EXPECT_EQ(clipped("abcdef", 5), "abcde");
  EXPECT_EQ(clipped("abc\u00e4", 4), "abc");
  EXPECT_EQ(clipped("\x80\x80\x80", 2), "");
}

}  // namespace
}  // namespace wg::record
