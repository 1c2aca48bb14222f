// The order of steps, and what they do to engines.
#include "sim/scenario_run.h"

#include "sim/scenario_runner.h"

namespace wg::sim {

namespace {

constexpr Duration longest = std::chrono::hours(2);
constexpr Duration look_again = std::chrono::milliseconds(100);

std::optional<Preset> preset_of(const ScenarioFleet& fleet) {
  auto preset = preset_named(fleet.preset);
  if (!preset) return std::nullopt;
  if (fleet.kv_tokens) {
    preset->engine.kv_tokens = {*fleet.kv_tokens};
    if (preset->engine.max_model_len > preset->engine.cache_holds()) preset->engine.max_model_len = {0};
  }
  if (fleet.max_num_seqs) preset->engine.max_num_seqs = *fleet.max_num_seqs;
  if (const auto balancer = balancer_named(fleet.balancer)) preset->balancer = *balancer;
  return *preset;
}

WorldSpec spec_of(const Scenario& scenario, std::uint64_t seed) {
  const ScenarioFleet& fleet = scenario.fleet;
  WorldSpec spec = world_of(*preset_of(fleet), fleet.engines, fleet.ranks, fleet.policy);
  spec.seed = seed;
  spec.fleet.pools[0].spill_threshold = fleet.spill;
  spec.fleet.pools[0].spill_rehome = fleet.rehome;
  // Sockets live in real time, also where everything else runs faster.
  spec.keeps_connections_for = from_seconds(4 * fleet.speed);
  return spec;
}

}  // namespace

Runner::Runner(const Scenario& scenario, std::uint64_t seed)
    : scenario_(scenario), preset_(*preset_of(scenario.fleet)), world_(spec_of(scenario, seed), *this) {
  for (const ScenarioSession& session : scenario.sessions) {
    ScenarioTalker& talker = talkers_.emplace_back();
    talker.spec = session;
    talker.number = static_cast<std::uint32_t>(talkers_.size());
    talker.talk = Conversation(preset_.engine.block_size, 0x68656164, session.head, talker.number);
  }
}

void Runner::advance() {
  while (next_ < scenario_.steps.size() && !looking_) {
    const Step& step = scenario_.steps[next_];
    TimePoint start(step.when);
    if (step.start == Step::Start::after_end) {
      if (next_ > 0 && open_in_step_[next_ - 1] > 0) return;
      start = previous_end_ + step.when;
    } else if (step.start == Step::Start::after_begin) {
      start = previous_begin_ + step.when;
    }
    if (start > world_.now()) {
      if (std::exchange(waits_for_, next_) != next_) wake(start - world_.now(), AlarmKind::advance);
      return;
    }
    current_ = next_++;
    previous_begin_ = previous_end_ = world_.now();
    if (!begin(step)) return;
  }
}

// False: the steps behind it have to wait until it is done.
bool Runner::begin(const Step& step) {
  switch (step.verb) {
    case Verb::turn:
    case Verb::title:
      start_turns(step);
      break;
    case Verb::rekey:
      for (const std::string& name : step.sessions) ++talker_named(name).life;
      break;
    case Verb::compact:
      for (const std::string& name : step.sessions) talker_named(name).talk.rewind(talker_named(name).spec.head);
      break;
    case Verb::fault:
      inject(step);
      break;
    case Verb::policy:
      world_.tell(fleet::PolicyChanged{0, step.policy, step.spill});
      break;
    case Verb::expect:
      if (const std::string broken = broken_expectation(step.expects); !broken.empty()) failed(step.line, broken);
      break;
    case Verb::until:
      looking_ = true;
      until_deadline_ = world_.now() + step.within;
      look(step);
      return false;
  }
  return true;
}

void Runner::look(const Step& step) {
  const std::string broken = broken_expectation(step.expects);
  if (!broken.empty() && world_.now() < until_deadline_) return wake(look_again, AlarmKind::look);
  if (!broken.empty()) failed(step.line, "not in time: " + broken);
  looking_ = false;
  previous_end_ = world_.now();
  wake({}, AlarmKind::advance);
}

void Runner::woken(std::uint64_t tag) {
  const Alarm alarm = alarms_[tag];
  switch (alarm.kind) {
    case AlarmKind::advance:
      return advance();
    case AlarmKind::again:
      return try_job(alarm.id);
    case AlarmKind::leave:
      return world_.leave(alarm.id);
    case AlarmKind::look:
      return look(scenario_.steps[current_]);
  }
}

void Runner::inject(const Step& step) {
  FaultOrder order = *step.fault;
  std::string at = step.place.engine;
  if (!step.place.session.empty()) at = talker_named(step.place.session).home;
  const std::size_t slash = at.find('/');
  const std::string engine = at.substr(0, slash);
  for (EngineIndex i = 0; i < scenario_.fleet.engines; ++i) {
    if (engine != "e" + std::to_string(i)) continue;
    order.engine = i;
    if (step.place.with_rank && slash != at.npos && at.substr(slash) != "/any")
      order.rank = static_cast<std::uint32_t>(std::stoul(at.substr(slash + 1)));
    return world_.inject(order);
  }
  failed(step.line, "no engine: " + step.place.session + " has no home");
}

ScenarioResult Runner::run() {
  open_in_step_.resize(scenario_.steps.size());
  world_.open();
  advance();
  const auto over = [&] { return next_ == scenario_.steps.size() && !looking_ && requests_.empty() && is_quiet(); };
  while (!over() && world_.now() < TimePoint(longest) && world_.run_one()) {
  }
  if (!over()) failed(scenario_.end_line, "it does not come to an end");
  if (const std::string broken = broken_expectation(scenario_.at_end); !broken.empty())
    failed(scenario_.end_line, broken);
  result_.digest = world_.fleet().digest();
  return std::move(result_);
}

ScenarioResult run_scenario(const Scenario& scenario, std::uint64_t seed) { return Runner(scenario, seed).run(); }

}  // namespace wg::sim
