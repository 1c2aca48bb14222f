#include "sim/fault_kind.h"

#include <array>
#include <utility>

namespace wg::sim {

namespace {
constexpr std::array<std::pair<FaultKind, std::string_view>, 16> names{{
    {FaultKind::refuse, "refuse"},
    {FaultKind::die_group, "die-group"},
    {FaultKind::cold_restart, "cold-restart"},
    {FaultKind::other_model, "other-model"},
    {FaultKind::reset_before_head, "reset-before-head"},
    {FaultKind::reset_after_head, "reset-after-head"},
    {FaultKind::stall_head, "stall-head"},
    {FaultKind::stall_first, "stall-first"},
    {FaultKind::stall_mid, "stall-mid"},
    {FaultKind::die_mid, "die-mid"},
    {FaultKind::status_500, "status-500"},
    {FaultKind::html_error, "html-error"},
    {FaultKind::error_first, "error-first"},
    {FaultKind::wrong_length, "wrong-length"},
    {FaultKind::truncated_chunk, "truncated-chunk"},
    {FaultKind::slow_first_byte, "slow-first-byte"},
}};
}  // namespace

std::string_view name_of(FaultKind kind) {
  for (const auto& [known, name] : names)
    if (known == kind) return name;
  return "none";
}

std::optional<FaultKind> fault_named(std::string_view name) {
  for (const auto& [kind, known] : names)
    if (known == name) return kind;
  return std::nullopt;
}

std::string fault_names(bool with_http) {
  std::string all;
  for (const auto& [kind, name] : names)
    if (with_http || !is_of_http(kind)) all.append(all.empty() ? "" : ", ").append(name);
  return all;
}

}  // namespace wg::sim
