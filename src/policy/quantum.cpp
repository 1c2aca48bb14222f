#include "policy/quantum.h"

#include <algorithm>

namespace wg::policy {

std::string_view name_of(WarmMode mode) {
  switch (mode) {
    case WarmMode::latency:
      return "latency";
    case WarmMode::throughput:
      return "throughput";
    case WarmMode::fair_tail:
      return "fair-tail";
  }
  return "unknown";
}

std::optional<WarmMode> warm_mode_named(std::string_view name) {
  for (const WarmMode mode : {WarmMode::latency, WarmMode::throughput, WarmMode::fair_tail})
    if (name_of(mode) == name) return mode;
  return std::nullopt;
}

std::optional<std::uint32_t> quantum_turns(WarmMode mode, double prefill_s, double turn_s, double waiting_per_seat) {
  if (mode != WarmMode::latency) return std::nullopt;
  constexpr double most = 10'000;
  const double share = rotation_share * std::max(1.0, waiting_per_seat / usual_crowd);
  const double turns = prefill_s / (share * std::max(turn_s, 0.01)), half_up = std::clamp(turns, 0.0, most) + 0.5;
  return std::max(least_quantum, static_cast<std::uint32_t>(half_up));
}

bool is_rotation_due(double waiting_per_seat, double waited_s, double reading_s, double without_seats_s) {
  if (waiting_per_seat > usual_crowd) return true;
  return waited_s + reading_s > patience * std::max(without_seats_s, reading_s);
}

}  // namespace wg::policy
