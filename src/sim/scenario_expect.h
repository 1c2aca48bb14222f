// What a scenario can expect, of a turn and of the fleet, and whether it holds. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "sim/scenario.h"

namespace wg::sim {

enum class ExpectedOf : std::uint8_t { turn, fleet };

// How clients can name their sessions; "previous" is a chain of previous_response_id, "none" leaves the fingerprint.
inline constexpr std::string_view session_keys =
    "claude-code, codex, opencode, operator, goose, prompt-cache-key, previous, none";

// What is wrong with it, in one sentence; empty if nothing is.
std::string check_expectation(std::string_view name, Compare compare, std::string_view value, ExpectedOf of);

// `actual` as the same text or number.
bool holds(const Expectation& expected, std::string_view actual);
bool holds(const Expectation& expected, double actual);
std::string text_of(const Expectation& expected);  // name OP value

}  // namespace wg::sim
