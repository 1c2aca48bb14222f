// The admin API's answers as lines for a terminal. Pure; any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace wg::app {

// Of /api/v1/replicas and /api/v1/warm.
std::string status_table(const nlohmann::json& replicas, const nlohmann::json& warm);
// Of /api/v1/decisions.
std::string decision_lines(const nlohmann::json& decisions);

}  // namespace wg::app
