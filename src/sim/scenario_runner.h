// The runner of a scenario over the virtual driver: its order of steps (scenario_run.cpp), its turns
// (scenario_turns.cpp), its expectations (scenario_check.cpp). Private to these. Owner: one thread.
// Invariant: a step begins only when the one before has begun, and each session has at most one turn under way.
#pragma once

#include <algorithm>
#include <map>

#include "sim/scenario_run.h"
#include "sim/scenario_session.h"

namespace wg::sim {

// A turn or title call that a step asked for: `times` of them, one after the other.
struct Job {
  const Step* step = nullptr;
  std::size_t talker = 0, step_index = 0;
  std::uint32_t left = 0;
};

enum class AlarmKind : std::uint8_t { advance, again, leave, look };
struct Alarm {
  AlarmKind kind = AlarmKind::advance;
  std::uint64_t id = 0;  // a job, or a request
};

class Runner final : public Clients {
 public:
  Runner(const Scenario& scenario, std::uint64_t seed);

  ScenarioResult run();

  void ended(const Answer& answer) override;
  void token(RequestId request, std::uint32_t count) override;
  void woken(std::uint64_t tag) override;

 private:
  void wake(Duration after, AlarmKind kind, std::uint64_t id = 0) {
    alarms_.push_back({kind, id});
    world_.wake(world_.now() + after, alarms_.size() - 1);
  }
  void advance();
  bool begin(const Step& step);
  bool is_quiet() const {
    return std::all_of(open_in_step_.begin(), open_in_step_.end(), [](std::uint32_t open) { return open == 0; });
  }
  void start_turns(const Step& step);
  void try_job(std::size_t job);
  void ask(std::size_t job);
  void refuse_model(std::size_t job);
  void job_done(std::size_t job);
  void inject(const Step& step);
  void look(const Step& step);

  ScenarioTalker& talker_named(const std::string& name) {
    return *std::find_if(talkers_.begin(), talkers_.end(), [&](const auto& one) { return one.spec.name == name; });
  }
  bool model_is_known(const std::string& model) const;
  void failed(std::uint32_t line, const std::string& what) {
    result_.failures.push_back(scenario_.file + ":" + std::to_string(line) + ": " + what);
  }
  void check_answer(const Step& step, const ScenarioTalker& talker, const Answer& answer);
  std::string replica_meant(const std::string& value);
  double figure(const std::string& name) const;
  std::string broken_expectation(const std::vector<Expectation>& expects) const;

  const Scenario& scenario_;
  Preset preset_;
  World world_;
  std::vector<ScenarioTalker> talkers_;
  std::vector<Job> jobs_;
  std::vector<Alarm> alarms_;
  std::map<RequestId, std::size_t> requests_;  // whose job
  std::size_t next_ = 0;                       // step that has not begun
  std::optional<std::size_t> waits_for_;       // step whose time has been set
  std::vector<std::uint32_t> open_in_step_;    // jobs of each step that have not ended
  std::size_t current_ = 0;
  TimePoint previous_begin_{}, previous_end_{}, until_deadline_{};
  bool looking_ = false;
  std::uint64_t responses_ = 0;
  ScenarioResult result_;
};

// Whether the client got an engine's answer, or the head of it, and so knows where it came from.
bool has_head(const Answer& answer);

}  // namespace wg::sim
