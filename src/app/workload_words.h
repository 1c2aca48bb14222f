// From the words of a command line to what simulated or measured sessions do. Start-up only: reads the trace's file.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "sim/workload.h"

namespace wg::app {

struct WorkloadWords {
  std::string workload = "agent", think, cap_think;
  double scale = 1;
};

// `load`: the agents of the machine; `limit`: prompt and answer of a trace's turn together, longer ones are cut.
// `notes` gets what somebody who reads the figures must know. The error is one line for people.
Result<sim::Workload> workload_of(const WorkloadWords& words, const sim::AgentLoad& load, Tokens limit,
                                  std::vector<std::string>& notes);

// "500ms", "30s", "3m", of an option.
Result<Duration> time_of(const char* option, const std::string& text, bool may_be_zero);

// "a,b,c"
std::vector<std::string> list_of(const std::string& text);

}  // namespace wg::app
