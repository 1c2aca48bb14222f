// N agent sessions at a time against one target, for a while: when one ends, the next begins in its slot. Owner: one
// loop; all calls on its thread. Invariant: a load is not destroyed between start() and its `finished`.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/measured.h"
#include "bench/session.h"
#include "bench/target.h"

namespace wg::bench {

struct LoadPlan {
  Target target;
  sim::Workload work;
  std::uint32_t sessions = 1;
  Duration warmup{};       // real time that comes first and is not measured
  Duration length{};       // real time behind it; zero: until stop()
  double time_scale = 1;   // of the engines and the gateway: pauses are so many times shorter
  std::uint64_t seed = 1;  // of the sessions' sizes and pauses
  std::uint64_t text = 1;  // another one, other prompts: nothing of theirs is in a cache
};

class Load {
 public:
  // `finished` is called once, from the loop, when the last session has ended after the time is up; `measuring` when
  // the warm-up is over, if there is one.
  Load(net::Loop& loop, LoadPlan plan, std::function<void()> finished, std::function<void()> measuring = {});
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void start();
  void stop();  // what is under way is cut off and not counted
  bool is_measuring() const { return warm_up_over_; }
  const LoadPlan& plan() const { return plan_; }
  const Measured& measured() const { return measured_; }  // also while it runs
  Measured take() { return std::move(measured_); }        // once it has finished

 private:
  struct Slot;
  net::Task<void> run(Slot& slot, std::uint32_t number);
  void slot_ended();
  void warmed_up();

  net::Loop& loop_;
  LoadPlan plan_;
  std::string head_of(const sim::SessionPlan& session);

  std::map<std::uint64_t, std::string> heads_;  // by the plan's head_text; each as long as the longest asked for
  std::function<void()> finished_, measuring_;
  std::vector<std::unique_ptr<Slot>> slots_;
  net::Timer end_, warm_;
  std::uint32_t running_ = 0;
  bool stopping_ = false, warm_up_over_ = false;
  Measured measured_;
};

}  // namespace wg::bench
