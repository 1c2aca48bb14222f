// What of a body is refused, with which words, and what passes: the rows of tests/data/hostile-json.txt and those that
// are too long for a file. That it passes unchanged is what tests/integration/test_hostile_json.py sees.
#include <gtest/gtest.h>

#include <ctime>
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

// Two texts in one block made the removal of the line and of the whole block overlap.
TEST(HostileJson, TwoBillingLinesInOneBlockAreRemovedOnce) {
  const std::string body =
      R"({"system":[{"text":"x-anthropic-billing-header: a\nrest","text":"x-anthropic-billing-header: b"},{"text":"c"}]})";
  const BodyFacts facts = facts_of(Api::messages, body);
  EditPlan plan;
  plan.drop_billing_line = true;
  const Splices splices = plan_edits(facts, plan);
  std::string edited;
  for (const std::string_view piece : pieces(body, splices)) edited += piece;
  EXPECT_EQ(edited, R"({"system":[{"text":"c"}]})");
}

// Time grows with length and with nothing else: each of these is some 4 MB. Generous, since machines are slow and
// shared; what is quadratic takes minutes.
TEST(HostileJson, NoShapeTakesLong) {
  const std::string line = "x-anthropic-billing-header:";
  const std::vector<std::pair<Api, std::string>> shapes = {
      {Api::chat, with("\"x\":\"" + repeated("\\\\", 2'000'000) + "\"")},
      {Api::chat, with("\"messages\":[{\"content\":\"" + repeated("\\u0078", 700'000) + "\"}]")},
      {Api::chat, with("\"messages\":[" + repeated("{\"role\":\"user\",\"content\":\"a\"},", 120'000) + "1]")},
      {Api::chat, with("\"messages\":[{\"content\":[" + repeated("{\"text\":\"\"},", 350'000) + "1]}]")},
      {Api::chat, with("\"x\":[" + repeated("[],", 1'300'000) + "1]")},
      {Api::chat, with("\"x\":" + repeated("{\"a\":[", 100) + repeated("1,", 2'000'000) + "1" + repeated("]}", 100))},
      {Api::chat, with("\"metadata\":{\"user_id\":\"" + repeated("_session_", 400'000) + "\"}")},
      {Api::messages, with("\"system\":[" + repeated("{\"text\":\"" + line + "\"},", 100'000) + "{}]")},
      {Api::messages, with("\"system\":[{" + repeated("\"text\":\"" + line + " x\\ny\",", 100'000) + "\"a\":1}]")},
      {Api::messages, with("\"system\":\"" + repeated(line, 150'000) + "\"")},
      {Api::responses,
       with("\"input\":[" + repeated("{\"type\":\"function_call\",\"arguments\":\"{}\"},", 90'000) + "1]")},
      {Api::completions, with("\"prompt\":[" + repeated("1,", 2'000'000) + "1]")},
      {Api::completions, with("\"prompt\":[" + repeated("\"\\n\",", 800'000) + "1]")},
      {Api::chat, with(repeated("\"a\\u0062\":1,", 300'000) + "\"b\":1")},
  };
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto start = std::clock();
    const auto facts = inspect_text(shapes[i].first, shapes[i].second);
    if (facts) plan_edits(*facts, {.model = "n", .add_include_usage = true, .drop_billing_line = true});
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 5) << "shape " << i << " of " << shapes[i].second.size() << " bytes";
  }
}

}  // namespace wg::dialect
