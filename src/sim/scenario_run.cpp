#include "sim/scenario_run.h"

#include <algorithm>
#include <map>

#include "config/config.h"
#include "core/hash.h"
#include "sim/scenario_expect.h"
#include "sim/scenario_session.h"

namespace wg::sim {

namespace {

constexpr Duration longest = std::chrono::hours(2);
constexpr Duration look_again = std::chrono::milliseconds(100);
constexpr std::uint64_t title_head = 0x7469746c65;

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

// Whether the client got an engine's answer, or the head of it, and so knows where it came from.
bool has_head(const Answer& answer) {
  return answer.attempts > 0 && answer.status != 0 && answer.outcome != fleet::Outcome::failed &&
         answer.outcome != fleet::Outcome::refused_by_us;
}

class Runner final : public Clients {
 public:
  Runner(const Scenario& scenario, std::uint64_t seed)
      : scenario_(scenario), preset_(*preset_of(scenario.fleet)), world_(spec_of(scenario, seed), *this) {
    for (const ScenarioSession& session : scenario.sessions) {
      ScenarioTalker& talker = talkers_.emplace_back();
      talker.spec = session;
      talker.number = static_cast<std::uint32_t>(talkers_.size());
      talker.talk = Conversation(preset_.engine.block_size, 0x68656164, session.head, talker.number);
    }
  }

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
  void send(std::size_t job);
  void refuse_model(std::size_t job);
  void job_done(std::size_t job);
  void inject(const Step& step);
  void look(const Step& step);

  ScenarioTalker& talker_named(const std::string& name) {
    return *std::find_if(talkers_.begin(), talkers_.end(), [&](const auto& one) { return one.spec.name == name; });
  }
  bool model_is_known(const std::string& model) const {
    if (model.empty() || model == preset_.model) return true;
    return std::any_of(scenario_.fleet.aliases.begin(), scenario_.fleet.aliases.end(),
                       [&](const std::string& alias) { return config::glob_matches(alias, model); });
  }
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

// ---- the order of steps ----

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

// ---- turns ----

void Runner::start_turns(const Step& step) {
  const std::size_t first = jobs_.size();
  for (const std::string& name : step.sessions)
    jobs_.push_back({&step, static_cast<std::size_t>(&talker_named(name) - talkers_.data()), current_, step.times});
  open_in_step_[current_] = static_cast<std::uint32_t>(step.sessions.size());
  for (std::size_t job = first; job < first + step.sessions.size(); ++job) try_job(job);
}

void Runner::try_job(std::size_t job) {
  ScenarioTalker& talker = talkers_[jobs_[job].talker];
  if (jobs_[job].step->verb == Verb::title) return send(job);
  if (talker.busy) return talker.queue.push_back(job);
  talker.busy = true;
  send(job);
}

void Runner::send(std::size_t job) {
  const Step& step = *jobs_[job].step;
  ScenarioTalker& talker = talkers_[jobs_[job].talker];
  const bool is_title = step.verb == Verb::title;
  if (!model_is_known(step.model.empty() ? talker.spec.model : step.model)) return refuse_model(job);

  Question question;
  fleet::RequestArrived& asked = question.asked;
  asked.session = talker.key();
  asked.lineage = {asked.session.high, is_title ? 2u : 1u};
  if (!talker.spec.parent.empty()) asked.parent = talker_named(talker.spec.parent).key();
  asked.kind = is_title       ? fleet::RequestClass::background
               : asked.parent ? fleet::RequestClass::sub_agent
                              : fleet::RequestClass::turn;
  const bool is_responses = talker.spec.dialect == "responses";
  asked.steerable_path = !is_responses;
  if (is_responses) {
    question.opens_at_once = talker.spec.streamed;
    question.response = {0x7265737, ++responses_};
    if (talker.spec.key == "previous") asked.pinned_to_response = talker.last_response;
  }
  if (is_title) {
    Conversation title(preset_.engine.block_size, title_head, 100, talker.number);
    title.say(50);
    question.prompt = title.prompt();
  } else {
    talker.talk.say(talker.turns == 0 ? talker.spec.first : step.add);
    question.prompt = talker.talk.prompt();
  }
  asked.prompt_estimate = question.prompt.size();
  question.answer = talker.talk.answer_of(step.out);
  question.streamed = talker.spec.streamed;
  question.fault = step.fault;
  const RequestId request = world_.send(std::move(question));
  requests_[request] = job;
  if (step.leave_after) wake(*step.leave_after, AlarmKind::leave, request);
}

// The pools have no such model: answered before the fleet hears of it.
void Runner::refuse_model(std::size_t job) {
  Answer answer;
  answer.status = 404;
  answer.outcome = fleet::Outcome::refused_by_us;
  answer.arrived = answer.ended = world_.now();
  check_answer(*jobs_[job].step, talkers_[jobs_[job].talker], answer);
  job_done(job);
}

void Runner::token(RequestId request, std::uint32_t count) {
  const Step& step = *jobs_[requests_.at(request)].step;
  if (step.leave_at_token && count >= *step.leave_at_token) wake({}, AlarmKind::leave, request);
}

void Runner::ended(const Answer& answer) {
  const auto found = requests_.find(answer.request);
  const std::size_t job = found->second;
  requests_.erase(found);
  const Step& step = *jobs_[job].step;
  ScenarioTalker& talker = talkers_[jobs_[job].talker];
  const bool answered = answer.outcome == fleet::Outcome::ok && answer.status == 200;
  if (has_head(answer)) talker.heard_from(world_.name_of(answer.replica), answer.route);
  check_answer(step, talker, answer);
  if (step.verb == Verb::turn) {
    // What was not answered stays said, as a client sends it again.
    ++talker.turns;
    if (answered && answer.finish != FinishReason::none) talker.talk.hear(talker.talk.answer_of(step.out));
    if (answered && talker.spec.dialect == "responses") talker.last_response = {0x7265737, responses_};
  }
  job_done(job);
}

void Runner::job_done(std::size_t job) {
  const bool again = --jobs_[job].left > 0;
  if (again) {
    if (jobs_[job].step->verb == Verb::turn) talkers_[jobs_[job].talker].busy = false;
    return wake(jobs_[job].step->pause, AlarmKind::again, job);
  }
  if (jobs_[job].step->verb == Verb::turn) {
    ScenarioTalker& talker = talkers_[jobs_[job].talker];
    talker.busy = false;
    if (!talker.queue.empty()) {
      const std::size_t next = talker.queue.front();
      talker.queue.pop_front();
      wake({}, AlarmKind::again, next);
    }
  }
  const std::size_t step = jobs_[job].step_index;
  if (--open_in_step_[step] == 0 && step + 1 == next_) {
    previous_end_ = world_.now();
    wake({}, AlarmKind::advance);
  }
}

// ---- what happens to engines ----

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

// ---- what is expected ----

std::string Runner::replica_meant(const std::string& value) {
  const std::size_t dot = value.find('.');
  if (dot == value.npos) return value;
  const ScenarioTalker& talker = talker_named(value.substr(0, dot));
  const std::string what = value.substr(dot + 1);
  if (what == "home") return talker.home;
  if (what == "home.before") return talker.home_before;
  return what == "last" ? talker.last : talker.last_before;
}

std::string outcome_of(const Answer& answer) {
  switch (answer.outcome) {
    case fleet::Outcome::client_gone:
      return "left";
    case fleet::Outcome::died_mid_stream:
    case fleet::Outcome::engine_aborted:
      return "broken";
    case fleet::Outcome::failed:
    case fleet::Outcome::refused_by_us:
      return "refused";
    case fleet::Outcome::ok:
      break;
  }
  if (answer.status != 200) return "refused";
  return answer.finish == FinishReason::none ? "broken" : "ok";
}

void Runner::check_answer(const Step& step, const ScenarioTalker& talker, const Answer& answer) {
  const bool head = has_head(answer);
  const std::string route(head ? policy::name_of(answer.route) : "none");
  const std::string replica = head ? world_.name_of(answer.replica) : "-";
  const std::string outcome = outcome_of(answer);
  std::string said = talker.spec.name + " " + outcome + " " + std::to_string(answer.status) + " " + route + " " +
                     replica + " cached " + std::to_string(answer.cached.count) + "/" +
                     std::to_string(answer.prompt.count) + " (" + answer.rule + ", attempts " +
                     std::to_string(answer.attempts) + ")";
  result_.log.push_back(std::to_string(to_seconds(world_.now().time_since_epoch())) + " line " +
                        std::to_string(step.line) + " " + said);
  const double ttfb = answer.first_content ? to_seconds(*answer.first_content - answer.arrived) : 1e9;
  for (const Expectation& expected : step.expects) {
    bool fine = false;
    const std::string& name = expected.name;
    if (name == "route") fine = holds(expected, route);
    if (name == "outcome") fine = holds(expected, outcome);
    if (name == "replica") fine = (replica == replica_meant(expected.value)) == (expected.compare == Compare::equal);
    if (name == "status") fine = holds(expected, answer.status);
    if (name == "prompt") fine = holds(expected, static_cast<double>(answer.prompt.count));
    if (name == "cached") fine = holds(expected, static_cast<double>(answer.cached.count));
    if (name == "output") fine = holds(expected, static_cast<double>(answer.output.count));
    if (name == "ttfb") fine = holds(expected, ttfb);
    if (!fine) failed(step.line, "expected " + text_of(expected) + ", came: " + said);
  }
}

double Runner::figure(const std::string& name) const {
  double in_flight = 0, busiest = 0, quietest = 1e9, up = 0, running = 0;
  fleet::ReplicaState::Turns turns;
  for (const fleet::ReplicaState& row : world_.fleet().replicas(world_.now())) {
    in_flight += row.in_flight;
    turns.placed += row.turns.placed, turns.sticky += row.turns.sticky, turns.spilled += row.turns.spilled;
    turns.off += row.turns.off, turns.unsteered += row.turns.unsteered;
    if (row.retired || !row.rank) continue;
    up += row.up ? 1 : 0;
    busiest = std::max<double>(busiest, row.in_flight);
    quietest = std::min<double>(quietest, row.in_flight);
  }
  for (EngineIndex e = 0; e < scenario_.fleet.engines; ++e)
    for (std::uint32_t rank = 0; rank < scenario_.fleet.ranks; ++rank)
      running += static_cast<double>(world_.engine(e, rank).running() + world_.engine(e, rank).waiting());
  if (name == "in_flight") return in_flight;
  if (name == "engines_idle" || name == "running") return running;
  if (name == "up") return up;
  if (name == "busiest") return busiest;
  if (name == "quietest") return quietest;
  if (name == "sessions") return static_cast<double>(world_.fleet().sessions_known());
  if (name == "turns.placed") return static_cast<double>(turns.placed);
  if (name == "turns.sticky") return static_cast<double>(turns.sticky);
  if (name == "turns.spilled") return static_cast<double>(turns.spilled);
  if (name == "turns.off") return static_cast<double>(turns.off);
  return static_cast<double>(turns.unsteered);
}

// The first that does not hold, and what came; empty: all hold.
std::string Runner::broken_expectation(const std::vector<Expectation>& expects) const {
  for (const Expectation& expected : expects) {
    const double came = figure(expected.name);
    const bool fine =
        expected.name == "engines_idle" ? (came == 0) == (expected.compare == Compare::equal) : holds(expected, came);
    if (!fine) return "expected " + text_of(expected) + ", came: " + std::to_string(came);
  }
  return "";
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

}  // namespace

ScenarioResult run_scenario(const Scenario& scenario, std::uint64_t seed) { return Runner(scenario, seed).run(); }

}  // namespace wg::sim
