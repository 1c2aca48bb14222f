// What the fleet is told of the configuration: pools, their policies and their engines. Start-up only.
#pragma once

#include "config/config.h"
#include "fleet/fleet.h"

namespace wg::gateway {

fleet::Spec spec_of(const config::Config& config);

}  // namespace wg::gateway
