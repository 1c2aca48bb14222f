// Units that the whole program shares: time on the fleet's clock, and token counts.
// Invariant: nothing in core, policy, fleet or sim reads a clock; a TimePoint always comes in from outside.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace wg {

using Duration = std::chrono::microseconds;
using Millis = std::chrono::milliseconds;

// The fleet's clock has no source of its own: the live driver feeds it monotonic time, the simulator virtual time.
struct FleetClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<FleetClock, duration>;
  static constexpr bool is_steady = true;
};
using TimePoint = FleetClock::time_point;

constexpr double to_seconds(Duration d) { return static_cast<double>(d.count()) / 1e6; }
constexpr Duration from_seconds(double s) { return Duration(static_cast<std::int64_t>(s * 1e6)); }

// A count of model tokens. A type of its own, so that it is never mixed up with bytes.
struct Tokens {
  std::int64_t count = 0;

  constexpr auto operator<=>(const Tokens&) const = default;
  constexpr Tokens operator+(Tokens other) const { return {count + other.count}; }
  constexpr Tokens operator-(Tokens other) const { return {count - other.count}; }
  constexpr Tokens& operator+=(Tokens other) { return count += other.count, *this; }
  constexpr Tokens& operator-=(Tokens other) { return count -= other.count, *this; }
};

}  // namespace wg
