// The part of the page that shows runs over time. Private to html_*.cpp.
#pragma once

#include <string>
#include <vector>

#include "sim/html_report.h"

namespace wg::sim {

// What a run is called: its policy, its target, or both, so that the runs of a page differ.
std::string arm_of(const ReportPage& page, const LoopRows& rows);
std::vector<std::string> arms_of(const ReportPage& page);  // each once, in the page's order

// Empty if no run has samples.
std::string times_section(const ReportPage& page);

}  // namespace wg::sim
