// What operators are shown of sessions: each with its home, and of one that is asked for all of its lineages, with what
// they wait for and what their seats are worth. On the brain's loop.
#pragma once

#include <string>
#include <string_view>

#include "gateway/context.h"

namespace wg::console {

// GET /api/v1/sessions?limit=N: {"sessions":[...],"known","limit"}, the latest first. `session` (as x-warmgate-session
// names it): only that one, with its "lineages".
std::string sessions_body(const gateway::Shared& shared, std::string_view session, std::size_t limit);

}  // namespace wg::console
