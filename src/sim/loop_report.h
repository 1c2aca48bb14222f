// Rows of closed loops as people and scripts read them: means over seeds, a table with the reference's columns, JSON
// with the names that docs fix. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "sim/closed_loop.h"

namespace wg::sim {

// One cell of the table: a policy with so many sessions, once for each seed.
struct LoopRows {
  std::string target, policy;
  std::uint32_t sessions = 0;
  std::vector<LoopRow> seeds;  // at least one
};

LoopRow mean_of(const std::vector<LoopRow>& rows);

std::string table_of(const std::vector<LoopRows>& all);
std::string json_of(const std::vector<LoopRows>& all);  // {"rows":[...]}

}  // namespace wg::sim
