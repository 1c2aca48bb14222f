// A whole bench: targets opened and calibrated, then every arm with every number of sessions, one load at a time, and
// what came out. Owner: one loop; all calls on its thread.
// Invariants: no two arms are sent the same text; what was measured before an interruption is kept.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/load.h"
#include "bench/open_target.h"
#include "bench/progress.h"
#include "bench/schedule.h"

namespace wg::bench {

struct BenchPlan {
  std::vector<TargetPlan> targets;    // at least one
  std::vector<std::string> policies;  // empty: as it is; else each target with an admin address is run under each
  std::vector<std::uint32_t> sessions;
  Duration step = std::chrono::minutes(3), warmup{};  // of the modelled machine: real ones are shorter by time_scale
  std::uint32_t seeds = 1;
  sim::Workload work;
  std::string work_words;          // for the report
  std::vector<std::string> notes;  // ... what somebody who reads the figures must know
  double time_scale = 1;
  bool reset_prefix_cache = false;
};

class Bench {
 public:
  Bench(net::Loop& loop, BenchPlan plan, Progress& progress, std::function<void()> finished);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void start();      // `finished` is called once, from the loop
  void interrupt();  // what runs is broken off and kept
  BenchResult& result() { return result_; }

 private:
  struct Arm {
    std::size_t target = 0;
    std::string policy;    // to be set; empty: none
    std::string shown_as;  // in the report
  };

  net::Task<void> run();
  net::Task<Result<void>> run_all();
  net::Task<Result<void>> run_cell(Cell cell, std::size_t number, std::size_t cells);
  net::Task<Result<void>> prepare(const Arm& arm, OpenTarget& open);
  net::Task<void> restore_policies();
  void make_arms();
  LoadPlan load_plan(const Arm& arm, const Cell& cell) const;
  void show(const std::string& what, std::size_t number, std::size_t cells);
  Duration real(Duration modelled) const { return from_seconds(to_seconds(modelled) / plan_.time_scale); }

  net::Loop& loop_;
  const BenchPlan plan_;
  Progress& progress_;
  std::function<void()> finished_;
  Nap nap_;
  std::vector<std::unique_ptr<OpenTarget>> opens_;
  std::vector<Arm> arms_;
  std::unique_ptr<Load> load_;
  bool load_over_ = false;
  TimePoint load_began_{};
  BenchResult result_;
};

}  // namespace wg::bench
