#include "console/pool_policy.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace wg::console {
namespace {

using gateway::Shared;
using nlohmann::json;

std::string policy_body(const fleet::PoolState& state) {
  const json body = {{"policy", policy::name_of(state.policy)},
                     {"spill_threshold", state.configured_threshold ? json(*state.configured_threshold) : json("auto")},
                     {"threshold_in_force", state.threshold},
                     {"threshold_assumed", state.threshold_assumed}};
  return body.dump() + "\n";
}

// What a PUT asks for; fields that are left out stay as they are.
Result<fleet::PolicyChanged> wanted_policy(PoolIndex pool, const fleet::PoolState& now, std::string_view text) {
  const json body = json::parse(text, nullptr, false);
  if (!body.is_object())
    return fail(Fault::client,
                "the body is no JSON object; expected {\"policy\":\"sticky\",\"spill_threshold\":\"auto\"}", 400);
  fleet::PolicyChanged event{pool, now.policy, now.configured_threshold};
  for (const auto& [key, value] : body.items()) {
    if (key == "policy") {
      const auto named = value.is_string() ? policy::policy_named(value.get<std::string>()) : std::nullopt;
      if (!named)
        return fail(Fault::client,
                    "policy: " + value.dump() + " is none; allowed: " + std::string(policy::policy_names), 400);
      event.policy = *named;
    } else if (key == "spill_threshold") {
      const bool is_number = value.is_number_unsigned() && value.get<std::uint64_t>() <= 100'000;
      if (!is_number && value != "auto")
        return fail(Fault::client, "spill_threshold: " + value.dump() + " is not possible; allowed: auto, 0..100000",
                    400);
      event.spill_threshold = is_number ? std::optional(value.get<std::uint32_t>()) : std::nullopt;
    } else {
      return fail(Fault::client, "unknown key \"" + key + "\"; allowed: policy, spill_threshold", 400);
    }
  }
  return event;
}

// %XX in a pool's name ("Qwen%2FQwen3-4B").
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Result<std::string> pool_policy(Shared& shared, std::string_view method, std::string_view path_name,
                                std::string_view body) {
  const std::string name = percent_decoded(path_name);
  const auto directory = shared.brain.directory().get();
  std::string known;
  for (PoolIndex p = 0; p < directory->pools.size(); ++p) {
    if (directory->pools[p].name.empty()) continue;
    known += (known.empty() ? "" : ", ") + directory->pools[p].name;
    if (directory->pools[p].name != name) continue;
    if (method == "PUT") {
      const auto event = wanted_policy(p, shared.brain.fleet().pool(p), body);
      if (!event) return tl::unexpected(event.error());
      shared.brain.tell(*event);
    } else if (method != "GET") {
      return fail(Fault::client, "allowed: GET, PUT", 405);
    }
    return policy_body(shared.brain.fleet().pool(p));
  }
  return fail(Fault::client, "there is no pool \"" + name + "\"; there are: " + known, 404);
}

}  // namespace wg::console
