#include "gateway/brain.h"

#include <algorithm>

#include "gateway/fleet_spec.h"

namespace wg::gateway {
namespace {

constexpr Duration shortest_probe_interval = std::chrono::milliseconds(50);

// The fleet's note on a decision stands behind it. One event may decide on many requests. Empty: the same once more.
const char* rule_behind(const fleet::Commands& commands, std::size_t decision, RequestId request) {
  if (decision + 1 == commands.size()) return "";
  const auto* const note = std::get_if<fleet::Note>(&commands[decision + 1]);
  return note && note->request == request ? note->rule : "";
}

}  // namespace

Brain::Brain(net::Loop& loop, const config::Config& config, record::Log& log)
    : loop_(loop),
      config_(config),
      fleet_(spec_of(config)),
      engines_(config),
      announcer_(log, engines_, directory_, config.pools.size()),
      late_(loop, [this] { consider_again(late_.take_all()); }),
      engines_up_(config.pools.size(), 0) {
  if (!config.record_decisions.empty())
    recorder_ = std::make_unique<DecisionRecorder>(config.record_decisions, spec_of(config));
  directory_.set(engines_.directory(fleet_.replicas(fleet_now())));
}

Brain::~Brain() = default;

TimePoint Brain::fleet_now() const {
  const auto real = loop_.now().time_since_epoch();
  return TimePoint(Duration(static_cast<std::int64_t>(static_cast<double>(real.count()) * config_.time_scale)));
}

// The fleet counts in a time that may run faster than ours; but an engine is not asked for its figures without a pause.
Duration Brain::probe_interval(Duration fleets) const {
  if (config_.time_scale == 1) return fleets;
  return std::max(from_seconds(to_seconds(fleets) / config_.time_scale), std::min(fleets, shortest_probe_interval));
}

// ---- questions and events ----

bool Brain::Ask::await_ready() {
  if (!brain_.loop_.is_current()) return false;
  brain_.consider(question_);
  return question_->decision.has_value();
}

void Brain::Ask::await_suspend(std::coroutine_handle<> self) {
  question_->self = self;
  if (brain_.loop_.is_current()) return;  // asked already; the fleet holds the request
  brain_.loop_.post([brain = &brain_, question = question_] { brain->consider(question); });
}

void Brain::consider(const QuestionPtr& question) {
  questions_.add(question);
  const auto* const arrived = std::get_if<fleet::RequestArrived>(&question->event);
  if (!arrived || !look_now || engines_up_[arrived->pool] > 0) return step(question->event);
  const std::vector<EngineIndex> engines = engines_.in_pool(arrived->pool);
  for (const EngineIndex engine : engines) look_now(engine);
  late_.await(question, arrived->pool, engines);
}

void Brain::engine_was_looked_at(EngineIndex engine) { consider_again(late_.looked_at(engine, engines_up_)); }

void Brain::consider_again(const std::vector<QuestionPtr>& questions) {
  for (const QuestionPtr& question : questions) step(question->event);
}

void Brain::tell(fleet::Event event) {
  if (loop_.is_current()) return step(event);
  loop_.post([this, moved = std::move(event)] { step(moved); });
}

void Brain::withdraw(RequestId request) {
  if (!loop_.is_current()) return loop_.post([this, request] { withdraw(request); });
  // The fleet must know of it before it can hear of its end.
  if (const QuestionPtr late = late_.take(request)) step(late->event);
  questions_.withdraw(request);
}

// ---- the fleet's steps ----

void Brain::step(const fleet::Event& event) {
  if (const auto* ended = std::get_if<fleet::Finished>(&event)) questions_.ended(ended->request);
  const TimePoint now = fleet_now();
  const fleet::Commands commands = fleet_.step(event, now);
  if (recorder_) record(event, now, commands);
  if (const auto* first = std::get_if<fleet::FirstContent>(&event)) decisions_.heard(*first, now);
  if (const auto* usage = std::get_if<fleet::UsageReported>(&event)) decisions_.heard(*usage);
  carry_out(commands);
}

void Brain::record(const fleet::Event& event, TimePoint now, const fleet::Commands& commands) {
  recorder_->stepped(event, now, commands, fleet_.digest());
  if (recorder_->lost() > 0) announcer_.recording_lost(config_.record_decisions);
}

void Brain::carry_out(const fleet::Commands& commands) {
  bool health_changed = false;
  for (const auto& command : commands)
    if (const auto* note = std::get_if<fleet::Note>(&command)) {
      take_note(*note);
      health_changed = health_changed || note->what != fleet::Note::What::decision;
    }
  if (health_changed) count_engines_up();
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const fleet::Command& command = commands[i];
    if (const auto* dispatch = std::get_if<fleet::Dispatch>(&command))
      questions_.answer(dispatch->request, {*dispatch, rule_behind(commands, i, dispatch->request)});
    if (const auto* reject = std::get_if<fleet::Reject>(&command))
      questions_.answer(reject->request, {*reject, rule_behind(commands, i, reject->request)});
    if (const auto* probe = std::get_if<fleet::ProbeEvery>(&command))
      if (set_probe_interval) set_probe_interval(probe->engine, probe_interval(probe->interval));
    if (const auto* look = std::get_if<fleet::ProbeNow>(&command)) look_at_suspect(look->engine);
    if (const auto* timer = std::get_if<fleet::SetTimer>(&command)) set_timer(*timer);
  }
}

void Brain::take_note(const fleet::Note& note) {
  if (note.what == fleet::Note::What::decision) decisions_.add(note, fleet_now());
  announcer_.note(note);
}

void Brain::look_at_suspect(EngineIndex engine) {
  announcer_.suspected(engine);
  if (look_anew) look_anew(engine);
}

void Brain::set_timer(const fleet::SetTimer& order) {
  auto& timer = timers_[order.timer];
  if (!timer) timer = std::make_unique<net::Timer>(loop_, [this, id = order.timer] { step(fleet::TimerFired{id}); });
  const double real = static_cast<double>((order.at - fleet_now()).count()) / config_.time_scale;
  timer->set(Duration(std::max<std::int64_t>(static_cast<std::int64_t>(real), 0)));
}

void Brain::count_engines_up() {
  std::fill(engines_up_.begin(), engines_up_.end(), 0);
  for (EngineIndex e = 0; e < engines_.all().size(); ++e)
    if (fleet_.engine_up(e)) ++engines_up_[engines_.pool_of(e)];
}

// ---- what collect/ reports ----

void Brain::engine_found(EngineIndex engine, const std::string& model, const probe::EngineSample& sample,
                         std::optional<std::uint32_t> slots) {
  const fleet::EngineFound found = engines_.found(engine, model, sample, slots);
  if (pool_named) pool_named(engines_.pool_name(*found.pool));
  step(found);
  directory_.set(engines_.directory(fleet_.replicas(fleet_now())));
  if (found.prefix_caching == false)
    warn_once(engine, "prefix caching is off: nothing can be kept warm; start the engine with --enable-prefix-caching");
}

void Brain::engine_sampled(EngineIndex engine, const probe::EngineSample& sample) {
  engines_.sampled(engine, sample);
  for (const probe::RankSample& rank : sample.ranks)
    step(fleet::ReplicaSampled{engine, rank.rank, rank.running, rank.waiting, rank.kv_usage, rank.prefix_queries,
                               rank.prefix_hits, rank.preemptions});
  announcer_.advise(engines_.pool_of(engine), fleet_, loop_.now(), fleet_now());
}

void Brain::engine_good(EngineIndex engine) {
  step(fleet::ProbeGood{engine});
  engine_was_looked_at(engine);
}

void Brain::engine_bad(EngineIndex engine, bool refused, const std::string& why) {
  if (fleet_.engine_up(engine)) announcer_.probe_failed(engine, why);
  step(fleet::ProbeBad{engine, refused});
  engine_was_looked_at(engine);
}

void Brain::cached_tokens_missing(EngineIndex engine) {
  if (!loop_.is_current()) return loop_.post([this, engine] { cached_tokens_missing(engine); });
  announcer_.cached_tokens_missing(engine);
}

}  // namespace wg::gateway
