// libFuzzer: request bodies and their edits. The first two bytes say which API and which edits. Spans lie inside the
// body; bytes that no splice names stay; a body that was taken and edited is taken again and says what was put in; and
// where a second JSON parser takes the body, it takes the edited one too, with nothing else changed in it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "dialect/edit.h"
#include "require.h"

namespace {

using namespace wg::dialect;
using wg::fuzz::require;
using Json = nlohmann::json;

constexpr std::string_view engine_model = "the \"engine's\" mod\u00e9l\\";

wg::Result<BodyFacts> inspect_text(Api api, std::string_view text) {
  std::string padded(text);
  padded.append(body_padding, '"');
  return inspect(api, std::string_view(padded).substr(0, text.size()));
}

void check_spans(const BodyFacts& facts, std::string_view body) {
  const auto inside = [&](const Span& span) {
    return span.offset <= body.size() && span.length <= body.size() - span.offset;
  };
  require(inside(facts.model_value) && inside(facts.stream_options) && inside(facts.include_usage_value),
          "spans inside");
  require(facts.first_member >= 1 && facts.first_member <= body.size() && body[facts.first_member - 1] == '{',
          "the first member stands behind the brace");
  if (facts.model_value) {
    const std::string_view model = body.substr(facts.model_value.offset, facts.model_value.length);
    require(model.size() >= 2 && model.front() == '"' && model.back() == '"', "the model's span is a string");
  }
  for (const Span& line : facts.billing_lines) require(inside(line) && line.length > 0, "billing lines inside");
  require(facts.text_bytes >= 0 && facts.max_tokens >= 0, "no counts below zero");
}

std::string apply(std::string_view body, const Splices& splices) {
  std::string out;
  std::size_t at = 0;
  for (const Splice& splice : splices) {
    require(splice.offset >= at && splice.offset <= body.size() && splice.remove <= body.size() - splice.offset,
            "splices lie in order inside the body and do not overlap");
    out.append(body.substr(at, splice.offset - at)).append(splice.insert);
    at = splice.offset + splice.remove;
  }
  return out.append(body.substr(at));
}

// The body as the second parser sees it, without what the edits may change.
Json others(Json json, const EditPlan& plan) {
  if (!plan.model.empty()) json.erase("model");
  if (plan.add_include_usage && json.contains("stream_options")) {
    Json& options = json["stream_options"];
    if (options.is_object()) options.erase("include_usage");
    if (options.is_null() || (options.is_object() && options.empty())) json.erase("stream_options");
  }
  if (plan.drop_billing_line) json.erase("system");
  return json;
}

void check_second_parser(std::string_view body, const std::string& edited, const EditPlan& plan,
                         const BodyFacts& facts) {
  const Json before = Json::parse(body, nullptr, false);
  if (before.is_discarded()) return;  // numbers beyond a double, and broken escapes, which are the engine's to refuse
  const Json after = Json::parse(edited, nullptr, false);
  require(!after.is_discarded(), "the second parser takes the edited body");
  require(others(after, plan) == others(before, plan), "nothing else has changed");
  if (!plan.model.empty() && facts.model_value) require(after["model"] == engine_model, "the model is the engine's");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string_view body = wg::fuzz::text_of(data + 2, size - 2);
  const auto api = static_cast<Api>(data[0] % 6);
  const auto facts = inspect_text(api, body);
  if (!facts) {
    require(facts.error().status == 400 && !facts.error().what.empty(), "a refusal says why");
    return 0;
  }
  check_spans(*facts, body);
  EditPlan plan;
  if ((data[1] & 1) != 0) plan.model = engine_model;
  plan.add_include_usage = (data[1] & 2) != 0 && (api == Api::chat || api == Api::completions);  // as the gateway does
  plan.drop_billing_line = (data[1] & 4) != 0;
  const Splices splices = plan_edits(*facts, plan);
  const std::string edited = apply(body, splices);
  std::string joined;
  for (const std::string_view piece : pieces(body, splices)) joined += piece;
  require(joined == edited && edited_size(body, splices) == edited.size(), "the pieces are the edited body");

  const auto again = inspect_text(api, edited);
  require(again.has_value(), "an edited body is taken again");
  check_spans(*again, edited);
  if (!plan.model.empty() && facts->model_value) require(again->model == engine_model, "the model was put in");
  if (plan.add_include_usage && facts->stream && facts->options != OptionsKind::other)
    require(again->include_usage, "usage was asked for");
  if (facts->billing_lines.empty() && plan.model.empty())
    require(again->fingerprint == facts->fingerprint && again->head == facts->head, "the same opening");
  require(again->stream == facts->stream && again->max_tokens == facts->max_tokens, "the rest says what it said");
  check_second_parser(body, edited, plan, *facts);
  return 0;
}
