// The admin API's answers as lines for a terminal. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace wg::console {

// Of the bodies of /api/v1/replicas and /api/v1/warm. Error: they are something else.
Result<std::string> status_text(std::string_view replicas, std::string_view warm);
// Of the bodies of /api/v1/sessions and /api/v1/decisions, both asked for one session.
Result<std::string> session_text(std::string_view sessions, std::string_view decisions);

}  // namespace wg::console
