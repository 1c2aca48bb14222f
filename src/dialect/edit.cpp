#include "dialect/edit.h"

#include <algorithm>
#include <utility>

#include "dialect/json_string.h"

namespace wg::dialect {
namespace {

constexpr std::string_view wish = "\"include_usage\":true";

// Set where the client left it out, or said no: the gateway takes the extra chunk out of the answer again.
void add_include_usage(const BodyFacts& facts, Splices& splices) {
  const Span& options = facts.stream_options;
  const auto whole = [](std::string_view before, std::string_view after) {
    return std::string(before).append(wish).append(after);
  };
  switch (facts.options) {
    case OptionsKind::absent:
      splices.push_back({facts.first_member, 0, whole("\"stream_options\":{", facts.is_empty_object ? "}" : "},")});
      break;
    case OptionsKind::null:
    case OptionsKind::empty:
      splices.push_back({options.offset, options.length, whole("{", "}")});
      break;
    case OptionsKind::object:
      if (facts.include_usage_value) {
        splices.push_back({facts.include_usage_value.offset, facts.include_usage_value.length, "true"});
      } else {
        splices.push_back({options.offset + 1, 0, whole("", ",")});
      }
      break;
    case OptionsKind::other:
      break;  // no object: the engine will say so
  }
}

}  // namespace

Splices plan_edits(const BodyFacts& facts, const EditPlan& plan) {
  Splices splices;
  if (!plan.model.empty() && facts.model_value && plan.model != facts.model) {
    std::string quoted;
    append_quoted(quoted, plan.model);
    splices.push_back({facts.model_value.offset, facts.model_value.length, std::move(quoted)});
  }
  if (plan.add_include_usage && facts.stream && !facts.include_usage) add_include_usage(facts, splices);
  if (plan.drop_billing_line)
    for (const Span& line : facts.billing_lines) splices.push_back({line.offset, line.length, {}});
  std::stable_sort(splices.begin(), splices.end(),
                   [](const Splice& a, const Splice& b) { return a.offset < b.offset; });
  return splices;
}

std::size_t edited_size(std::string_view body, const Splices& splices) {
  std::size_t size = body.size();
  for (const Splice& splice : splices) size = size + splice.insert.size() - splice.remove;
  return size;
}

std::vector<std::string_view> pieces(std::string_view body, const Splices& splices) {
  std::vector<std::string_view> out;
  out.reserve(2 * splices.size() + 1);
  std::size_t at = 0;
  const auto add = [&](std::string_view piece) {
    if (!piece.empty()) out.push_back(piece);
  };
  for (const Splice& splice : splices) {
    add(body.substr(at, splice.offset - at));
    add(splice.insert);
    at = splice.offset + splice.remove;
  }
  add(body.substr(at));
  return out;
}

}  // namespace wg::dialect
