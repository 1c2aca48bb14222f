// How many turns a resident may take while others wait for a seat. A rotation costs one reading of the newcomer's
// context; it may cost at most a tenth of the time that a residency lasts, so long contexts rotate rarely.
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
inline constexpr double rotation_share = 0.1;

// `prefill_s`: of the whole context; `turn_s`: of a hit turn and the pause behind it. Empty: no bound.
std::optional<std::uint32_t> quantum_turns(WarmMode mode, double prefill_s, double turn_s);

}  // namespace wg::policy
