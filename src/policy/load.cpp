#include "policy/load.h"

#include <array>
#include <utility>

namespace wg::policy {

namespace {
constexpr std::array<std::pair<PolicyName, std::string_view>, 6> names{{{PolicyName::off, "off"},
                                                                        {PolicyName::round_robin, "round-robin"},
                                                                        {PolicyName::least, "least"},
                                                                        {PolicyName::hash, "hash"},
                                                                        {PolicyName::sticky, "sticky"},
                                                                        {PolicyName::warm, "warm"}}};
}  // namespace

std::string_view name_of(PolicyName name) {
  for (const auto& [known, text] : names)
    if (known == name) return text;
  return "unknown";
}

std::optional<PolicyName> policy_named(std::string_view name) {
  for (const auto& [known, text] : names)
    if (text == name) return known;
  return std::nullopt;
}

std::string_view name_of(Route route) {
  switch (route) {
    case Route::placed:
      return "placed";
    case Route::sticky:
      return "sticky";
    case Route::spilled:
      return "spilled";
    case Route::moved:
      return "moved";
    case Route::off:
      return "off";
    case Route::unsteered:
      return "unsteered";
    case Route::waiting:
      return "waiting";
  }
  return "unknown";
}

}  // namespace wg::policy
