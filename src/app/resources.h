// What this process may use of the machine: descriptors, memory. Asked once at start; says in words where that is less
// than the configuration wants. Main thread.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"

namespace wg::app {

// Raises the soft limit of descriptors to the hard one.
void raise_descriptor_limit();

// How many clients may be connected: limits.connections, or as many as there are descriptors for, if each client's
// request needs another one towards an engine. `warning` says so in the second case. And how many that are refused may
// keep theirs for a moment, and how many operators may be connected.
struct Connections {
  std::uint32_t clients = 0, refused = 0, operators = 0;
  std::string warning;
};
Connections connections_that_fit(const config::Config& config);

// How many bytes the bodies of all requests may take together.
std::uint64_t room_for_bodies(const config::Config& config);

}  // namespace wg::app
