#include "sim/scenario_expect.h"

#include <array>
#include <charconv>
#include <cmath>

#include "sim/workload.h"

namespace wg::sim {

namespace {

enum class Kind : std::uint8_t { word, number, time, flag };
struct Known {
  std::string_view name;
  Kind kind;
  ExpectedOf of;
};
constexpr std::array<Known, 26> all{{
    {"route", Kind::word, ExpectedOf::turn},
    {"replica", Kind::word, ExpectedOf::turn},
    {"outcome", Kind::word, ExpectedOf::turn},
    {"status", Kind::number, ExpectedOf::turn},
    {"prompt", Kind::number, ExpectedOf::turn},
    {"cached", Kind::number, ExpectedOf::turn},
    {"output", Kind::number, ExpectedOf::turn},
    {"ttfb", Kind::time, ExpectedOf::turn},
    {"waited", Kind::time, ExpectedOf::turn},
    {"attempts", Kind::number, ExpectedOf::turn},
    {"in_flight", Kind::number, ExpectedOf::fleet},
    {"engines_idle", Kind::flag, ExpectedOf::fleet},
    {"up", Kind::number, ExpectedOf::fleet},
    {"sessions", Kind::number, ExpectedOf::fleet},
    {"busiest", Kind::number, ExpectedOf::fleet},
    {"quietest", Kind::number, ExpectedOf::fleet},
    {"turns.placed", Kind::number, ExpectedOf::fleet},
    {"turns.sticky", Kind::number, ExpectedOf::fleet},
    {"turns.spilled", Kind::number, ExpectedOf::fleet},
    {"turns.moved", Kind::number, ExpectedOf::fleet},
    {"turns.off", Kind::number, ExpectedOf::fleet},
    {"turns.unsteered", Kind::number, ExpectedOf::fleet},
    {"running", Kind::number, ExpectedOf::fleet},
    {"waiting", Kind::number, ExpectedOf::fleet},
    {"seats", Kind::number, ExpectedOf::fleet},
    {"hits.missed", Kind::number, ExpectedOf::fleet},
}};

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A number, or a time in seconds.
std::optional<double> value_in(std::string_view text) {
  if (const auto number = number_in(text)) return number;
  if (const auto time = duration_named(text)) return to_seconds(*time);
  return std::nullopt;
}

constexpr std::string_view sign_of(Compare compare) {
  switch (compare) {
    case Compare::equal:
      return "=";
    case Compare::unequal:
      return "!=";
    case Compare::at_least:
      return ">=";
    case Compare::at_most:
      return "<=";
  }
  return "=";
}

bool is_known_word(std::string_view name, std::string_view value) {
  if (name == "outcome") return value == "ok" || value == "left" || value == "broken" || value == "refused";
  if (name != "route") return true;
  for (const auto route : {policy::Route::placed, policy::Route::sticky, policy::Route::spilled, policy::Route::moved,
                           policy::Route::off, policy::Route::unsteered})
    if (value == policy::name_of(route)) return true;
  return value == "none";
}

}  // namespace

std::string check_expectation(std::string_view name, Compare compare, std::string_view value, ExpectedOf of) {
  std::string known;
  for (const Known& one : all) {
    if (one.of != of) continue;
    known.append(known.empty() ? "" : ", ").append(one.name);
    if (one.name != name) continue;
    const bool ordered = compare == Compare::at_least || compare == Compare::at_most;
    const bool is_text = one.kind == Kind::word || one.kind == Kind::flag;
    const std::string what(name);
    if (is_text && ordered) return what + " is compared by = or !=";
    if (one.kind == Kind::flag && value != "yes") return what + " stands alone";
    if (one.kind == Kind::number && !number_in(value)) return "'" + std::string(value) + "' is no number";
    if (one.kind == Kind::time && !duration_named(value)) return "'" + std::string(value) + "' is no time such as 2s";
    if (!is_known_word(name, value)) return "'" + std::string(value) + "' is no " + what;
    return "";
  }
  return "'" + std::string(name) + "' cannot be expected here; known are " + known;
}

bool holds(const Expectation& expected, std::string_view actual) {
  return (expected.value == actual) == (expected.compare == Compare::equal);
}

bool holds(const Expectation& expected, double actual) {
  const auto wanted = value_in(expected.value);
  if (!wanted) return false;
  switch (expected.compare) {
    case Compare::equal:
      return std::abs(actual - *wanted) < 1e-9;
    case Compare::unequal:
      return std::abs(actual - *wanted) >= 1e-9;
    case Compare::at_least:
      return actual >= *wanted;
    case Compare::at_most:
      return actual <= *wanted;
  }
  return false;
}

std::string text_of(const Expectation& expected) {
  return expected.name + std::string(sign_of(expected.compare)) + expected.value;
}

}  // namespace wg::sim
