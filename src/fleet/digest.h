// A fingerprint of commands: equal for equal runs, different as soon as one command, figure or word differs.
// Invariant: depends on values only, never on addresses or padding, so it is the same on every machine.
// Pure; any thread.
#pragma once

#include "fleet/events.h"

namespace wg::fleet {

std::uint64_t mixed(std::uint64_t digest, const Command& command);

}  // namespace wg::fleet
