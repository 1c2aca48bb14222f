// What /metrics shows: counters as they were counted, and the fleet's own state as gauges. On the brain's loop.
#pragma once

#include <string>

#include "gateway/context.h"

namespace wg::console {

std::string metrics_page(gateway::Shared& shared);

}  // namespace wg::console
