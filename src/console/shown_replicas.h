// The replicas that operators are shown. On the brain's loop.
#pragma once

#include <vector>

#include "gateway/context.h"

namespace wg::console {

// In the order of the configuration, whichever answered first; within an engine by rank, the row without one last.
// Retired rows until their last request has ended; the row without a rank once a request was left to its engine.
std::vector<fleet::ReplicaState> shown_replicas(const gateway::Shared& shared);

}  // namespace wg::console
