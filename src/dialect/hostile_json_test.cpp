// What of a body is refused, with which words, and what passes: the rows of tests/data/hostile-json.txt and those that
// are too long for a file. That it passes unchanged is what tests/integration/test_hostile_json.py sees.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/test_inputs.h"
#include "dialect/edit.h"
#include "dialect/test_requests.h"

namespace wg::dialect {

namespace {

std::string refusal_of(std::string_view body) {
  const auto facts = inspect_text(Api::chat, body);
  return facts ? std::string() : std::to_string(facts.error().status) + " " + facts.error().what;
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string nested(std::size_t depth) {  // the object itself is the first level
  return R"({"model":"m","x":)" + repeated("[", depth - 1) + repeated("]", depth - 1) + "}";
}

std::string with(const std::string& member) { return R"({"model":"m",)" + member + "}"; }

}  // namespace

TEST(HostileJson, Rows) {
  for (const wg::testing::Input& row : wg::testing::inputs("hostile-json.txt")) {
    SCOPED_TRACE(row.why);
    const auto facts = inspect_text(Api::chat, row.bytes);
    if (row.verdict == "pass") {
      EXPECT_TRUE(facts && facts->model == "m") << (facts ? facts->model : facts.error().what);
      continue;
    }
    if (facts) {  // refused one stage later: there is no such pool
      EXPECT_EQ(facts->model, "");
      continue;
    }
    EXPECT_EQ(std::to_string(facts.error().status), row.verdict);
    EXPECT_EQ(facts.error().what.find_first_of("\r\n"), std::string::npos);
  }
}

TEST(HostileJson, DepthHasALimit) {
  EXPECT_EQ(refusal_of(nested(256)), "");
  EXPECT_EQ(refusal_of(nested(257)), "400 The body is not valid JSON: nesting too deep, at byte 272.");
  EXPECT_EQ(refusal_of(R"({"model":"m","x":)" + repeated("[", 1'000'000)).substr(0, 47),
            "400 The body is not valid JSON: nesting too dee");
  EXPECT_EQ(refusal_of(repeated(R"({"a":)", 1'000'000)).substr(0, 47),
            "400 The body is not valid JSON: nesting too dee");
}

TEST(HostileJson, LengthHasNone) {
  EXPECT_EQ(refusal_of(with("\"" + repeated("k", 1'000'000) + "\":1")), "");
  EXPECT_EQ(refusal_of(with("\"x\":" + repeated("9", 1'000'000))), "");
  EXPECT_EQ(refusal_of(with("\"x\":\"" + repeated("\\u0000", 200'000) + "\"")), "");
  std::string members = "\"k0\":0";
  for (int i = 1; i < 50'000; ++i) members += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_EQ(refusal_of(with(members)), "");
}

// What a message repeats of a body is bounded, and printable.
TEST(HostileJson, ALongKeyTwiceIsCutInTheMessage) {
  const std::string key = "\"" + repeated("k", 100'000) + "\":1";
  const std::string refused = refusal_of(with(key + "," + key));
  EXPECT_LT(refused.size(), 250u);
  EXPECT_EQ(refused.substr(0, 30), "400 The top-level key \"kkkkkkk");
}

// A key in escapes is edited where it stands; nothing else moves.
TEST(HostileJson, EscapedModelIsReplaced) {
  const std::string body = R"({"x":"\ud800","mod\u0065l" : "alia\u0073" ,"n":1e999})";
  const BodyFacts facts = facts_of(Api::chat, body);
  EXPECT_EQ(facts.model, "alias");
  EditPlan plan;
  plan.model = "m\"";
  const Splices splices = plan_edits(facts, plan);
  std::string edited;
  for (const std::string_view piece : pieces(body, splices)) edited += piece;
  EXPECT_EQ(edited, R"({"x":"\ud800","mod\u0065l" : "m\"" ,"n":1e999})");
}

}  // namespace wg::dialect
