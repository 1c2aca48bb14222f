#include "collect/discovery.h"

#include <nlohmann/json.hpp>

namespace wg::collect {
using nlohmann::json;

Result<std::string> model_of(std::string_view models_body, std::string_view wanted) {
  const json parsed = json::parse(models_body, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("data") || !parsed["data"].is_array())
    return fail(Fault::upstream, "/v1/models gave no list of models");
  std::string first;
  for (const json& card : parsed["data"]) {
    if (!card.is_object() || !card.contains("id") || !card["id"].is_string()) continue;
    auto id = card["id"].get<std::string>();
    if (id == wanted) return id;
    if (first.empty()) first = id;
  }
  if (first.empty()) return fail(Fault::upstream, "/v1/models lists no model");
  return first;
}

std::optional<std::uint32_t> slots_of(std::string_view props_body) {
  const json parsed = json::parse(props_body, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("total_slots") || !parsed["total_slots"].is_number_unsigned())
    return std::nullopt;
  return parsed["total_slots"].get<std::uint32_t>();
}

}  // namespace wg::collect
