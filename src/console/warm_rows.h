// What operators are shown of `warm`: learnt facts and seats, the queue, what limits, and why a turn went where it
// went. On the brain's loop.
#pragma once

#include <string>
#include <string_view>

#include "gateway/context.h"

namespace wg::console {

// GET /api/v1/warm: {"pools":[...],"replicas":[...]}
std::string warm_body(const gateway::Shared& shared);
// GET /api/v1/decisions?session=HEX&limit=N: {"decisions":[...]}, the latest first. No session: all.
std::string decisions_body(const gateway::Shared& shared, std::string_view session, std::size_t limit);

}  // namespace wg::console
