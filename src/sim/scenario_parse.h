// From the text of a scenario file to a Scenario. Pure; any thread.
#pragma once

#include <string_view>

#include "core/error.h"
#include "sim/scenario.h"

namespace wg::sim {

// The error is one line: FILE:LINE:COLUMN: what is wrong there. `file` is only its name.
Result<Scenario> parse_scenario(std::string_view text, std::string_view file);

}  // namespace wg::sim
