// How many turns a resident may take while others wait for a seat. A rotation costs one reading of the newcomer's
// context; it may cost at most a tenth of the time that a residency lasts, so long contexts rotate rarely. Where w wait
// for each seat, one waits for w residencies: above 1.7, rotations may cost more, so that this stays below seventeen
// readings. Where fewer wait, residents stay on until a rotation is due: until the first of the queue will have waited,
// its reading included, 1.9 times as long as every turn would if nobody had a seat. What seats win for all may cost one
// turn that much, and rotations that are not needed for it are saved. Measured: docs/policies/warm.md.
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
inline constexpr double rotation_share = 0.1, usual_crowd = 1.7, patience = 1.9;

// `prefill_s`: of the whole context; `turn_s`: of a hit turn and the pause behind it; `waiting_per_seat`: how many wait
// for each seat. Empty: no bound.
std::optional<std::uint32_t> quantum_turns(WarmMode mode, double prefill_s, double turn_s, double waiting_per_seat = 0);

// After a quantum: whether to yield now, with the first of the queue waiting for `waited_s`. `reading_s`: what it will
// take to read; `without_seats_s`: what each turn would wait (policy/break_even.h).
bool is_rotation_due(double waiting_per_seat, double waited_s, double reading_s, double without_seats_s);

}  // namespace wg::policy
