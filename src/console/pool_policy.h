// GET and PUT of /api/v1/pools/NAME/policy: by which policy a pool is routed, and another from now on. On the brain's
// loop.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "gateway/context.h"

namespace wg::console {

// `name` as it stands in the path. The policy in force, as JSON. Error: its status says whose it is.
Result<std::string> pool_policy(gateway::Shared& shared, std::string_view method, std::string_view name,
                                std::string_view body);

}  // namespace wg::console
