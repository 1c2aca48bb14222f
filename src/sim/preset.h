// The machines that the simulated fleet can be, by name: an engine's settings, the network before it, and the load that
// was measured on it. A new machine is one more entry in preset.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "sim/balancer.h"
#include "sim/engine_settings.h"

namespace wg::sim {

struct TokenRange {
  std::int64_t low = 0, high = 0;  // uniform, both included
};

// What one closed-loop agent session of this machine does.
struct AgentLoad {
  std::int64_t head = 0;  // tokens of the system prompt, shared by all sessions
  TokenRange first;       // the first message, on top of the head
  TokenRange added;       // new tokens of each later turn, beside the echoed answer
  TokenRange output;
  std::uint32_t turns = 1;     // the first included
  double pause_s = 0;          // between turns
  bool pause_is_mean = false;  // pause_s is the mean of an exponential distribution
  double between_sessions_s = 0;
  double stagger_s = 0;  // between the starts of the first sessions
};

// What the step cost was found on; another model or card is reckoned in proportion to it.
struct CardOfPreset {
  double bandwidth = 448e9, flops = 76.7e12;  // per second; dense, in the precision of the weights
  double weight_bytes = 8.05e9, active_parameters = 4.02e9;
};

struct Preset {
  std::string name;
  std::string model;  // as /v1/models would call it
  EngineSettings engine;
  CardOfPreset card;
  double network_s = 0;  // added to each time to first byte
  BalancerKind balancer = BalancerKind::random;
  AgentLoad load;
};

const std::vector<Preset>& presets();
Result<Preset> preset_named(std::string_view name);  // the error lists the known ones

}  // namespace wg::sim
