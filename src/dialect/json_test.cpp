// The cursor and the string functions against another parser, on random and damaged documents.
#include <gtest/gtest.h>

#include <optional>

#include "dialect/json_cursor.h"
#include "dialect/json_string.h"
#include "dialect/test_json.h"

namespace wg::dialect {
namespace {

bool accepts(std::string_view text) {
  JsonCursor cursor(text);
  cursor.skip();
  return cursor.finish();
}

// Empty where it stops at a number beyond a double's range, which is good JSON.
std::optional<bool> another_parser_accepts(const std::string& text) {
  try {
    return !nlohmann::json::parse(text).is_discarded();
  } catch (const nlohmann::json::out_of_range&) {
    return {};
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

nlohmann::json rebuild(JsonCursor& cursor) {
  if (cursor.peek() == '{') {
    nlohmann::json out = nlohmann::json::object();
    cursor.object([&](std::string_view key) {
      const std::string name(key);
      out[name] = rebuild(cursor);
    });
    return out;
  }
  if (cursor.peek() == '[') {
    nlohmann::json out = nlohmann::json::array();
    cursor.array([&] { out.push_back(rebuild(cursor)); });
    return out;
  }
  if (cursor.peek() == '"') return decoded(cursor.string());
  return nlohmann::json::parse(cursor.skip());
}

TEST(JsonCursor, RebuildsRandomDocuments) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    JsonWriter writer(seed);
    const std::string text = writer.space() + writer.value(5) + writer.space();
    JsonCursor cursor(text);
    const nlohmann::json rebuilt = rebuild(cursor);
    ASSERT_TRUE(cursor.finish()) << text << "\n" << cursor.fault().what;
    ASSERT_EQ(rebuilt, nlohmann::json::parse(text)) << text;
  }
}

// Without escapes, whose insides the cursor leaves alone, both parsers accept and refuse the same bytes.
TEST(JsonCursor, AcceptsWhatAnotherParserAccepts) {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    JsonWriter writer(seed, false);
    std::string text = writer.value(4);
    static constexpr std::string_view bytes = "{}[]:,\"0-1.e+ tn\n\x01\x80\xC3\xED\xA0";
    for (auto damage = writer.rng().between(1, 2); damage > 0 && !text.empty(); --damage) {
      const std::size_t at = writer.pick(text.size());
      const std::string byte(1, bytes[writer.pick(bytes.size())]);
      text.replace(at, writer.pick(2), writer.chance(0.7) ? byte : "");
    }
    const std::optional<bool> expected = another_parser_accepts(text);
    if (!expected) continue;
    refused += !*expected;
    ASSERT_EQ(accepts(text), *expected) << text;
  }
  EXPECT_GT(refused, 5000);
}

TEST(JsonCursor, DamagedEscapesNeverMakeItAcceptMoreThanStrings) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    JsonWriter writer(seed);
    std::string text = writer.value(4);
    text.erase(writer.pick(text.size()), 1);
    if (nlohmann::json::accept(text)) {
      ASSERT_TRUE(accepts(text)) << text;
    } else if (accepts(text)) {
      ASSERT_NE(text.find('\\'), std::string::npos) << text;
    }
  }
}

TEST(JsonCursor, EveryPrefixIsRefused) {
  const std::string text = R"({"a":[1,{"b":"x\"y"},null],"c":{}})";
  for (std::size_t length = 0; length < text.size(); ++length) EXPECT_FALSE(accepts(text.substr(0, length))) << length;
  EXPECT_TRUE(accepts(text));
}

TEST(JsonCursor, DepthHasALimit) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(accepts(nested(max_json_depth)));
  EXPECT_FALSE(accepts(nested(max_json_depth + 1)));
  EXPECT_FALSE(accepts(std::string(1'000'000, '[')));
}

TEST(JsonCursor, CursorsMayOverlap) {
  JsonCursor outer(R"({"a":1,"b":2})");
  std::int64_t sum = 0;
  outer.object([&](std::string_view) {
    JsonCursor inner("[10,20]");
    inner.array([&] { sum += inner.integer(); });
    sum += outer.integer();
  });
  EXPECT_EQ(sum, 63);
}

TEST(JsonString, DecodesAsAnotherParserDoes) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    JsonWriter writer(seed);
    const std::string quoted = writer.quoted(writer.text(60));
    const std::string raw = quoted.substr(1, quoted.size() - 2);
    const auto expected = nlohmann::json::parse(quoted).get<std::string>();
    ASSERT_EQ(decoded(raw), expected) << quoted;
    ASSERT_EQ(decoded_size(raw), expected.size()) << quoted;
  }
}

TEST(JsonString, BrokenEscapesAreNoTrap) {
  const std::pair<const char*, const char*> rows[] = {
      {"\\", "\\"},
      {"\\q", "q"},
      {"\\u", "u"},
      {"\\u12", "u12"},
      {"\\u12G4", "u12G4"},
      {"\\\xC3\xA9", "\xC3\xA9"},
      {"\\ud800", "\xEF\xBF\xBD"},
      {"\\udc00x", "\xEF\xBF\xBDx"},
      {"\\ud800\\u0041",
       "\xEF\xBF\xBD"
       "A"},
      {"x\\uD83D\\", "x\xEF\xBF\xBD\\"},
      {"\\ud83d\\ude42", "\xF0\x9F\x99\x82"},
  };
  for (const auto& [raw, text] : rows) {
    EXPECT_EQ(decoded(raw), text) << raw;
    // The size is counted in blocks of 64: every place in them.
    for (std::size_t shift = 0; shift < 70; ++shift) {
      const std::string moved = std::string(shift, '.') + raw;
      ASSERT_EQ(decoded_size(moved), decoded(moved).size()) << moved;
      ASSERT_EQ(decoded_size(moved + "....\\n"), decoded(moved + "....\\n").size()) << moved;
    }
  }
}

TEST(JsonString, SizeIsThatOfTheDecodedTextForAnyBytes) {
  static constexpr std::string_view bytes = "\\\\\\\\u0dDc8nqé\"";
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    Rng rng(seed);
    std::string raw;
    for (auto left = rng.between(0, 200); left > 0; --left)
      raw += rng.uniform() < 0.3 ? bytes[static_cast<std::size_t>(rng.between(0, 14))] : '.';
    ASSERT_EQ(decoded_size(raw), decoded(raw).size()) << raw;
  }
}

TEST(JsonString, QuotesAnyBytes) {
  Rng rng(7);
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (auto left = rng.between(0, 20); left > 0; --left) text += static_cast<char>(rng.between(0, 255));
    std::string quoted;
    append_quoted(quoted, text);
    ASSERT_TRUE(nlohmann::json::accept(quoted)) << quoted;
  }
  std::string quoted;
  append_quoted(quoted, "a\"\\\n\x01 é中🙂");
  EXPECT_EQ(nlohmann::json::parse(quoted).get<std::string>(), "a\"\\\n\x01 é中🙂");
}

}  // namespace
}  // namespace wg::dialect
