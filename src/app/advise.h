// warmgate simulate --advise: whether planned sessions fit the caches, by the rule of thumb that a running gateway
// applies too: sessions x their context against the cache of all replicas. Runs nothing. Start-up only.
#pragma once

#include <string>

#include "app/simulate_plan.h"

namespace wg::app {

// Lines for people, or rows for scripts.
std::string advice_on(const SimulatePlan& plan, bool kv_is_8_bit, bool json);

}  // namespace wg::app
