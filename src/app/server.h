// The live gateway put together: loops, brain, pollers, listeners, and their orderly end.
#pragma once

#include "config/config.h"

namespace wg::app {

// Runs until SIGTERM or SIGINT. 0: drained; 1: could not start, or drained by force.
int run_server(const config::Config& config);

}  // namespace wg::app
