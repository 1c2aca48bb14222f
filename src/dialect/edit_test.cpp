// Edits against the same change made on a parsed document.
#include "dialect/edit.h"

#include <gtest/gtest.h>

#include <set>

#include "dialect/test_json.h"
#include "dialect/test_requests.h"

namespace wg::dialect {
namespace {

std::string edited(std::string_view body, const Splices& splices) {
  std::string out;
  for (const std::string_view piece : pieces(body, splices)) out += piece;
  EXPECT_EQ(out.size(), edited_size(body, splices));
  return out;
}

std::string edited(Api api, std::string_view body, const EditPlan& plan) {
  return edited(body, plan_edits(facts_of(api, body), plan));
}

constexpr EditPlan usage_plan = {{}, true, false};

TEST(Edit, Model) {
  EXPECT_EQ(edited(Api::chat, R"({"a":1.0, "model" : "x" })", {"y\"z", false, false}),
            R"({"a":1.0, "model" : "y\"z" })");
  EXPECT_EQ(edited(Api::chat, R"({"model":"x"})", {"x", false, false}), R"({"model":"x"})");
  EXPECT_EQ(edited(Api::chat, R"({"a":1})", {"x", false, false}), R"({"a":1})");
}

TEST(Edit, IncludeUsage) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"stream":true})", R"({"stream_options":{"include_usage":true},"stream":true})"},
      {R"({"stream":true,"stream_options":null})", R"({"stream":true,"stream_options":{"include_usage":true}})"},
      {R"({"stream":true,"stream_options":{ }})", R"({"stream":true,"stream_options":{"include_usage":true}})"},
      {R"({"stream":true,"stream_options":{"x":1}})",
       R"({"stream":true,"stream_options":{"include_usage":true,"x":1}})"},
      {R"({"stream":true,"stream_options":{"include_usage":false,"x":1}})",
       R"({"stream":true,"stream_options":{"include_usage":true,"x":1}})"},
      {R"({"stream":true,"stream_options":{"include_usage":null}})",
       R"({"stream":true,"stream_options":{"include_usage":true}})"},
      {R"({"stream":true,"stream_options":{"include_usage":true}})",
       R"({"stream":true,"stream_options":{"include_usage":true}})"},
      {R"({"stream":true,"stream_options":7})", R"({"stream":true,"stream_options":7})"},
      {R"({"stream":false})", R"({"stream":false})"},
      {R"({})", R"({})"},
  };
  for (const auto& [before, after] : rows) EXPECT_EQ(edited(Api::chat, before, usage_plan), after);
}

TEST(Edit, BillingLine) {
  const EditPlan plan = {{}, false, true};
  const std::string line = R"({"type":"text","text":"x-anthropic-billing-header: cc_version=1;"})";
  const std::string other = R"({"type":"text","text":"You are"})";
  const auto system = [](const std::string& blocks) { return R"({"system":[)" + blocks + R"(],"messages":[]})"; };
  EXPECT_EQ(edited(Api::messages, system(line + " , " + other), plan), system(other));
  EXPECT_EQ(edited(Api::messages, system(line), plan), system(""));
  EXPECT_EQ(edited(Api::messages, system(other + ", " + line), plan), system(other));
  EXPECT_EQ(edited(Api::messages, system(line + "," + line + "," + other + "," + line + "," + line), plan),
            system(other));
  EXPECT_EQ(edited(Api::messages, system(other), plan), system(other));
  EXPECT_EQ(edited(Api::messages, R"({"system":"x-anthropic-billing-header: a;\nYou\nare"})", plan),
            R"({"system":"You\nare"})");
  EXPECT_EQ(edited(Api::messages, R"({"system":"x-anthropic-billing-header: a;"})", plan), R"({"system":""})");
  EXPECT_EQ(edited(Api::messages, R"({"system":"see x-anthropic-billing-header: a;"})", plan),
            R"({"system":"see x-anthropic-billing-header: a;"})");
  // Nothing but the line is dropped: a block that goes on after it keeps its rest.
  EXPECT_EQ(edited(Api::messages, system(R"({"type":"text","text":"x-anthropic-billing-header: a;\nYou are"})"), plan),
            system(other));
  const std::string user = R"({"messages":[{"role":"user","content":"x-anthropic-billing-header: a"}]})";
  EXPECT_EQ(edited(Api::messages, user, plan), user);
}

TEST(Edit, CapturedBodiesLoseTheirBillingLineAndNothingElse) {
  int dropped = 0;
  for (const CapturedRequest& request : load_captures("claude-code-2.1.332")) {
    OrderedJson expected = OrderedJson::parse(request.body);
    expected["model"] = "qwen3-4b";
    auto& system = expected["system"];
    if (system.is_array() && !system.empty() &&
        system[0]["text"].get<std::string>().starts_with("x-anthropic-billing-header:")) {
      system.erase(0);
      ++dropped;
    }
    EXPECT_EQ(edited(request.api, request.body, {"qwen3-4b", false, true}), expected.dump()) << request.name;
  }
  EXPECT_GT(dropped, 10);
}

// A body of random members in random order, among them the ones that edits are about.
std::string random_body(JsonWriter& writer) {
  static constexpr const char* options[] = {"null",
                                            "{}",
                                            "{ }",
                                            R"({"include_usage":false})",
                                            R"({"x":[1],"include_usage":true})",
                                            R"({"a":"b","include_usage" : null})",
                                            R"({"continuous_usage_stats":true})"};
  std::vector<std::pair<std::string, std::string>> members;
  if (writer.chance(0.9)) members.emplace_back("model", writer.quoted(writer.text()));
  if (writer.chance(0.8)) members.emplace_back("stream", writer.chance(0.8) ? "true" : "false");
  if (writer.chance(0.5)) members.emplace_back("stream_options", options[writer.pick(std::size(options))]);
  if (writer.chance(0.7)) {
    std::string blocks;
    for (auto left = writer.rng().between(0, 4); left > 0; --left)
      blocks += (blocks.empty() ? "" : "," + writer.space()) + std::string("{\"text\":") + writer.space() +
                writer.quoted((writer.chance(0.5) ? "x-anthropic-billing-header: " : "") + std::to_string(left)) + "}" +
                writer.space();
    members.emplace_back("system", "[" + writer.space() + blocks + "]");
  }
  for (auto left = writer.rng().between(0, 4); left > 0; --left)
    members.emplace_back(writer.text(4) + "#" + std::to_string(left), writer.value(3));
  std::string body = writer.space() + "{" + writer.space();
  for (bool first = true; !members.empty(); first = false) {
    const std::size_t at = writer.pick(members.size());
    body += (first ? "" : "," + writer.space()) + writer.quoted(members[at].first) + writer.space() + ":" +
            writer.space() + members[at].second + writer.space();
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return body + "}" + writer.space();
}

nlohmann::json apply(nlohmann::json body, const EditPlan& plan) {
  if (!plan.model.empty() && body.contains("model")) body["model"] = plan.model;
  if (plan.add_include_usage && body.value("stream", false)) {
    if (!body.contains("stream_options") || body["stream_options"].is_null())
      body["stream_options"] = nlohmann::json::object();
    body["stream_options"]["include_usage"] = true;
  }
  if (plan.drop_billing_line && body.contains("system"))
    std::erase_if(body["system"].get_ref<nlohmann::json::array_t&>(), [](const nlohmann::json& block) {
      return block["text"].get_ref<const std::string&>().starts_with("x-anthropic-billing-header:");
    });
  return body;
}

TEST(Edit, EqualsTheSameChangeOnTheParsedBody) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    JsonWriter writer(seed);
    const std::string body = random_body(writer);
    const std::string name = writer.text();
    const EditPlan plan = {name, writer.chance(0.7), writer.chance(0.7)};
    const std::string out = edited(Api::messages, body, plan);
    ASSERT_TRUE(nlohmann::json::accept(out)) << body << "\n" << out;
    ASSERT_EQ(nlohmann::json::parse(out), apply(nlohmann::json::parse(body), plan)) << body << "\n" << out;
  }
}

TEST(Edit, RandomDuplicatesAreRefused) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    JsonWriter writer(seed);
    std::string body = random_body(writer);
    const nlohmann::json parsed = nlohmann::json::parse(body);
    if (parsed.empty()) continue;
    auto twice = parsed.begin();
    std::advance(twice, static_cast<std::ptrdiff_t>(writer.pick(parsed.size())));
    body.insert(body.rfind('}'), "," + writer.quoted(twice.key()) + ":1");
    const Result<BodyFacts> facts = inspect_text(Api::messages, body);
    ASSERT_FALSE(facts.has_value()) << body;
    if (twice.key() != "model") {
      ASSERT_NE(facts.error().what.find("\"" + twice.key() + "\" stands twice"), std::string::npos)
          << facts.error().what;
    }
  }
}

}  // namespace
}  // namespace wg::dialect
