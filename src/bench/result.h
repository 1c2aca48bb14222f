// What a bench has found out: of each target, and of each arm with each number of sessions. Values only; one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/calibrate.h"
#include "bench/engine_watch.h"
#include "bench/measured.h"
#include "sim/html_report.h"

namespace wg::bench {

// What a report has to say of a target beside its rows.
struct TargetFacts {
  std::string name, url, model;
  Calibration calibration;
  std::size_t engines = 0;  // whose metrics pages are read
  std::uint32_t ranks = 0;
  std::string hits_from = "nobody", stayed_from = "nobody";
};

struct BenchResult {
  std::vector<sim::ReportRun> runs;   // arm by arm, in each by number of sessions; none without a measurement
  std::vector<std::string> replicas;  // names of the ranks in the runs' samples
  std::vector<TargetFacts> targets;
  std::map<std::string, std::uint64_t> failures;  // by kind
  std::uint64_t failed = 0, asked = 0;            // turns
  std::string last_failure;
  bool interrupted = false;
  double processor_share = 0;  // of one core, used by this process while loads ran
  std::string error;           // it could not go on, in one line; runs are what there was by then
};

// One load's place in a result.
struct ResultPlace {
  std::size_t target = 0, run = 0;
  std::uint32_t seed = 1;
};
// Enters what was measured. `looks`: at the target's engines, from the beginning of the measuring to its end.
void keep(BenchResult& result, const ResultPlace& place, Measured measured, const std::vector<EngineLook>& looks,
          double time_scale);

}  // namespace wg::bench
