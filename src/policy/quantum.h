// How many turns a resident may take while others wait for a seat. A rotation costs one reading of the newcomer's
// context; it may cost at most a tenth of the time that a residency lasts, so long contexts rotate rarely. Where w wait
// for each seat, one waits for w residencies: above 1.7, rotations may cost more, so that this stays below seventeen
// readings.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wg::policy {

enum class WarmMode : std::uint8_t {
  latency,     // residents yield after a quantum
  throughput,  // residents stay until they pause or end
  fair_tail    // nobody is protected: late binding and prices alone
};

std::string_view name_of(WarmMode mode);
std::optional<WarmMode> warm_mode_named(std::string_view name);
inline constexpr std::string_view warm_mode_names = "latency, throughput, fair-tail";

inline constexpr std::uint32_t least_quantum = 3;
inline constexpr double rotation_share = 0.1, usual_crowd = 1.7;

// `prefill_s`: of the whole context; `turn_s`: of a hit turn and the pause behind it; `waiting_per_seat`: how many wait
// for each seat. Empty: no bound.
std::optional<std::uint32_t> quantum_turns(WarmMode mode, double prefill_s, double turn_s, double waiting_per_seat = 0);

}  // namespace wg::policy
