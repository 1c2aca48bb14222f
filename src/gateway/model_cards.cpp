#include "gateway/model_cards.h"

#include "dialect/json_string.h"

namespace wg::gateway {
namespace {

std::string card(std::string_view id, dialect::Shape shape) {
  std::string text = shape == dialect::Shape::anthropic ? R"({"type":"model","id":)" : R"({"object":"model","id":)";
  dialect::append_quoted(text, id);
  if (shape == dialect::Shape::anthropic) {
    text += R"(,"display_name":)";
    dialect::append_quoted(text, id);
    return text + R"(,"created_at":"1970-01-01T00:00:00Z"})";
  }
  return text + R"(,"created":0,"owned_by":"warmgate"})";
}

std::vector<std::string_view> names(const Directory& directory) {
  std::vector<std::string_view> all;
  for (const PoolEntry& pool : directory.pools) {
    if (!pool.name.empty()) all.push_back(pool.name);
    for (const std::string& alias : pool.aliases)
      if (alias.find_first_of("*?") == std::string::npos) all.push_back(alias);
  }
  return all;
}

void append_id(std::string& text, const std::vector<std::string_view>& ids, std::size_t index) {
  if (ids.empty())
    text += "null";
  else
    dialect::append_quoted(text, ids[index]);
}

}  // namespace

std::string model_cards(const Directory& directory, dialect::Shape shape) {
  const auto ids = names(directory);
  std::string text = shape == dialect::Shape::anthropic ? R"({"data":[)" : R"({"object":"list","data":[)";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text += ',';
    text += card(ids[i], shape);
  }
  text += ']';
  if (shape == dialect::Shape::anthropic) {
    text += R"(,"has_more":false,"first_id":)";
    append_id(text, ids, 0);
    text += R"(,"last_id":)";
    append_id(text, ids, ids.size() - 1);
  }
  return text + '}';
}

std::string model_card(const Directory& directory, dialect::Shape shape, std::string_view model) {
  for (const std::string_view name : names(directory))
    if (name == model) return card(model, shape);
  return "";
}

}  // namespace wg::gateway
