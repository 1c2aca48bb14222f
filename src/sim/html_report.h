// One page for people out of closed loops, simulated or measured: charts and all figures in tables. One file that needs
// nothing else: no scripts, no fonts, no network. Pure; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/closed_loop.h"
#include "sim/loop_report.h"

namespace wg::sim {

struct ReportRun {
  LoopRows rows;
  std::vector<LoopSample> samples;  // of its first seed, in order of time; none: nothing is drawn over time
};

struct ReportPage {
  std::string title, subtitle;
  std::vector<std::pair<std::string, std::string>> facts;  // name and value: the machine, the load, the command
  std::vector<std::string> notes;                          // what somebody who reads the figures must know
  std::vector<ReportRun> runs;                             // arm by arm, in each by number of sessions
  std::vector<std::string> replicas;                       // names, in the order of LoopSample::kv_usage
};

std::string html_of(const ReportPage& page);

// The page's CSS.
extern const char* const report_style;

}  // namespace wg::sim
