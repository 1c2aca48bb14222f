// What the demo shows on a terminal: a table of the replicas while it runs, and the two runs side by side. Only text is
// made here; nothing is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/figures.h"

namespace wg::app {

// One replica since the run began.
struct DemoReplica {
  std::string name;
  bool up = false;
  std::uint64_t requests = 0, placed = 0, sticky = 0, spilled = 0;
  double in_flight = 0;
  double cached = 0, computed = 0;  // prompt tokens, as the engine counts them
  double kv_usage = 0;              // 0..1
};

struct DemoProgress {
  std::string policy;
  double elapsed_s = 0, length_s = 0;
  std::uint32_t sessions = 0;
  bench::Row so_far;
  std::string last_failure;
};

std::vector<std::string> table_lines(const std::vector<DemoReplica>& replicas, const DemoProgress& progress);
std::vector<std::string> comparison_lines(const bench::Row& first, const bench::Row& second, double speed);

// Prints lines over those before them on a terminal, behind them elsewhere. Owner: one thread.
class LiveTable {
 public:
  explicit LiveTable(bool in_place) : in_place_(in_place) {}
  void show(const std::vector<std::string>& lines);
  void keep() { lines_ = 0; }  // what is shown stays; the next table comes below

 private:
  bool in_place_;
  std::size_t lines_ = 0;
};

}  // namespace wg::app
