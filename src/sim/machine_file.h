// A machine as parameters in YAML: what a preset holds, beginning from one. The table in machine_file.cpp is the list
// of keys; docs/simulate.md shows a file. Start-up only.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "sim/preset.h"

namespace wg::sim {

struct Machine {
  Preset preset;
  std::uint32_t replicas = 1;
};

// Keys that the text does not give are those of `base:`, or of the first preset. The error names line, key and what is
// allowed.
Result<Machine> read_machine(const std::string& text);

}  // namespace wg::sim
