#include "gateway/brain.h"

#include <algorithm>
#include <cstdio>

#include "core/assert.h"

namespace wg::gateway {
namespace {

fleet::Spec spec_of(const config::Config& config) {
  fleet::Spec spec;
  for (PoolIndex p = 0; p < config.pools.size(); ++p) {
    const config::Pool& pool = config.pools[p];
    fleet::PoolSpec& made = spec.pools.emplace_back();
    made.name = pool.model;
    made.policy = pool.policy;
    made.spill_threshold = pool.spill_threshold;
    made.spill_rehome = pool.spill_rehome;
    made.warm.mode = pool.warm_mode;
    if (config.admission.max_wait > Duration{}) made.warm.max_wait = config.admission.max_wait;
    for (const config::Engine& engine : pool.engines) spec.engines.push_back({engine.name, p});
  }
  spec.session_limit = config.sessions.limit;
  spec.active_for = config.sessions.active_for;
  return spec;
}

std::vector<const config::Engine*> engines_of(const config::Config& config) {
  std::vector<const config::Engine*> all;
  for (const config::Pool& pool : config.pools)
    for (const config::Engine& engine : pool.engines) all.push_back(&engine);
  return all;
}

// How long a request waits for the look that it has caused. Refused connections take no time; this is for silence.
constexpr Duration look_at_most = std::chrono::milliseconds(250);
constexpr Duration shortest_probe_interval = std::chrono::milliseconds(50);

// The flag that mends a missing per-request cache figure; llama.cpp always reports it.
const char* cached_tokens_flag(probe::EngineKind kind) {
  return kind == probe::EngineKind::sglang ? "--enable-cache-report" : "--enable-prompt-tokens-details";
}

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
      log_(log),
      fleet_(spec_of(config)),
      late_timer_(loop, [this] { decide_late(true); }),
      engines_up_(config.pools.size(), 0),
      last_advised_(config.pools.size()) {
  for (PoolIndex p = 0; p < config.pools.size(); ++p) {
    pool_names_.push_back(config.pools[p].model);
    engine_pools_.insert(engine_pools_.end(), config.pools[p].engines.size(), p);
  }
  engines_.resize(engine_pools_.size());
  if (!config.record_decisions.empty())
    recorder_ = std::make_unique<DecisionRecorder>(config.record_decisions, spec_of(config));
  rebuild_directory();
}

Brain::~Brain() = default;

TimePoint Brain::fleet_now() const {
  const auto real = loop_.now().time_since_epoch();
  return TimePoint(Duration(static_cast<std::int64_t>(static_cast<double>(real.count()) * config_.time_scale)));
}

// The fleet counts in a time that may run faster than ours; but an engine is not asked for its figures without a pause.
Duration Brain::real(Duration fleets) const {
  if (config_.time_scale == 1) return fleets;
  return std::max(from_seconds(to_seconds(fleets) / config_.time_scale), std::min(fleets, shortest_probe_interval));
}

// ---- questions and events ----

bool Brain::Ask::await_ready() {
  if (!brain_.loop_.is_current()) return false;
  brain_.consider(pending_);
  return pending_->decision.has_value();
}

void Brain::Ask::await_suspend(std::coroutine_handle<> self) {
  pending_->self = self;
  if (brain_.loop_.is_current()) return;  // asked already; the fleet holds the request
  brain_.loop_.post([brain = &brain_, pending = pending_] { brain->consider(pending); });
}

void Brain::consider(PendingPtr pending) {
  waiting_.emplace(pending->request, pending);
  const auto* const arrived = std::get_if<fleet::RequestArrived>(&pending->event);
  if (!arrived || !look_now || engines_up_[arrived->pool] > 0) return step(pending->event);
  Late late{std::move(pending), arrived->pool, {}};
  for (EngineIndex e = 0; e < engine_pools_.size(); ++e)
    if (engine_pools_[e] == late.pool) late.awaited.push_back(e);
  for (const EngineIndex engine : late.awaited) look_now(engine);
  late_.push_back(std::move(late));
  if (!late_timer_.armed()) late_timer_.set(look_at_most);
}

void Brain::engine_was_looked_at(EngineIndex engine) {
  for (Late& late : late_) std::erase(late.awaited, engine);
  if (!late_.empty()) decide_late(false);
}

// All: the look takes too long, so the answer is what is known.
void Brain::decide_late(bool all) {
  std::vector<Late> still;
  for (Late& late : std::exchange(late_, {})) {
    if (all || late.awaited.empty() || engines_up_[late.pool] > 0)
      step(late.pending->event);
    else
      still.push_back(std::move(late));
  }
  late_ = std::move(still);
  if (late_.empty()) late_timer_.cancel();
}

void Brain::answer(RequestId request, Decision decision) {
  const auto found = waiting_.find(request);
  if (found == waiting_.end()) {
    if (withdrawn_.contains(request)) return;
    return WG_BUG("a decision on a request that nobody asked about");
  }
  const PendingPtr pending = std::move(found->second);
  waiting_.erase(found);
  pending->decision = std::move(decision);
  if (!pending->self) return;
  pending->home.post([pending] {
    if (!pending->gone) pending->self.resume();
  });
}

void Brain::set_timer(const fleet::SetTimer& order) {
  auto& timer = timers_[order.timer];
  if (!timer) timer = std::make_unique<net::Timer>(loop_, [this, id = order.timer] { step(fleet::TimerFired{id}); });
  const double real = static_cast<double>((order.at - fleet_now()).count()) / config_.time_scale;
  timer->set(Duration(std::max<std::int64_t>(static_cast<std::int64_t>(real), 0)));
}

void Brain::tell(fleet::Event event) {
  if (loop_.is_current()) return step(event);
  loop_.post([this, moved = std::move(event)] { step(moved); });
}

void Brain::withdraw(RequestId request) {
  if (!loop_.is_current()) return loop_.post([this, request] { withdraw(request); });
  // The fleet must know of it before it can hear of its end.
  const auto late =
      std::find_if(late_.begin(), late_.end(), [&](const Late& one) { return one.pending->request == request; });
  if (late != late_.end()) {
    const PendingPtr pending = late->pending;
    late_.erase(late);
    step(pending->event);
  }
  if (!waiting_.contains(request)) return;
  withdrawn_.insert(request);
  answer(request, {fleet::Reject{request, 503, 0, "the client has left", false}, "withdrawn"});
}

void Brain::step(const fleet::Event& event) {
  if (!withdrawn_.empty())
    if (const auto* ended = std::get_if<fleet::Finished>(&event)) withdrawn_.erase(ended->request);
  const TimePoint now = fleet_now();
  const fleet::Commands commands = fleet_.step(event, now);
  if (recorder_) record(event, now, commands);
  carry_out(commands);
}

void Brain::record(const fleet::Event& event, TimePoint now, const fleet::Commands& commands) {
  recorder_->stepped(event, now, commands, fleet_.digest());
  if (told_of_loss_ || recorder_->lost() == 0) return;
  told_of_loss_ = true;
  log_.warning("the recording " + config_.record_decisions +
               " lost events: its disk is too slow or full; a replay ends where the first is missing");
}

void Brain::carry_out(const fleet::Commands& commands) {
  bool health_changed = false;
  for (const auto& command : commands)
    if (const auto* its_note = std::get_if<fleet::Note>(&command)) {
      note(*its_note);
      health_changed = health_changed || its_note->what != fleet::Note::What::decision;
    }
  if (health_changed) count_engines_up();
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const fleet::Command& command = commands[i];
    if (const auto* dispatch = std::get_if<fleet::Dispatch>(&command))
      answer(dispatch->request, {*dispatch, rule_behind(commands, i, dispatch->request)});
    if (const auto* reject = std::get_if<fleet::Reject>(&command))
      answer(reject->request, {*reject, rule_behind(commands, i, reject->request)});
    if (const auto* probe = std::get_if<fleet::ProbeEvery>(&command))
      if (set_probe_interval) set_probe_interval(probe->engine, real(probe->interval));
    if (const auto* look = std::get_if<fleet::ProbeNow>(&command)) look_at_suspect(look->engine);
    if (const auto* timer = std::get_if<fleet::SetTimer>(&command)) set_timer(*timer);
  }
}

void Brain::look_at_suspect(EngineIndex engine) {
  log_.debug("engine " + engines_of(config_)[engine]->name +
             " reset a request before its answer: it is being looked at");
  if (look_anew) look_anew(engine);
}

void Brain::count_engines_up() {
  std::fill(engines_up_.begin(), engines_up_.end(), 0);
  for (EngineIndex e = 0; e < engine_pools_.size(); ++e)
    if (fleet_.engine_up(e)) ++engines_up_[engine_pools_[e]];
}

void Brain::note(const fleet::Note& note) {
  using What = fleet::Note::What;
  const auto engine = [&] { return "engine " + engines_of(config_)[note.engine]->name; };
  switch (note.what) {
    case What::decision:
      decisions_.add(note, fleet_now());
      if (note.route == policy::Route::unsteered && unsteered_++ == 0)
        log_.warning(
            "a request went to an engine with several ranks by a path that cannot be steered (/v1/responses and the "
            "like): the engine chooses the rank itself; said once, counted in the API");
      break;
    case What::engine_up:
      log_.info(engine() + " is up");
      break;
    case What::engine_down:
      log_.warning(engine() + " is down: " + note.rule);
      break;
    case What::engine_changed:
      log_.info(engine() + " serves " + engines_[note.engine].model + " now: its replicas are new");
      break;
    case What::policy_changed:
      log_.info("policy changed");
      break;
    case What::cache_doubted:
      log_.warning("replica " + directory_.get()->replicas[note.replica].id + ": " + note.rule +
                   " (GET /api/v1/warm shows how much)");
      break;
    case What::home_dropped:
      break;
  }
}

// ---- what collect/ reports ----

// An --engine without a pool of its own goes to the pool of its model; the first one names it.
PoolIndex Brain::pool_for(EngineIndex engine, const std::string& model) {
  const PoolIndex configured = engine_pools_[engine];
  if (!config_.pools[configured].model.empty()) return configured;
  for (PoolIndex p = 0; p < pool_names_.size(); ++p)
    if (pool_names_[p] == model) return p;
  for (PoolIndex p = 0; p < pool_names_.size(); ++p)
    if (pool_names_[p].empty()) return p;
  return configured;
}

void Brain::engine_found(EngineIndex engine, const std::string& model, const probe::EngineSample& sample,
                         std::optional<std::uint32_t> slots) {
  const config::Engine& configured = *engines_of(config_)[engine];
  EngineInfo& info = engines_[engine];
  info.model = model;
  info.kind = sample.kind;
  info.ranks = sample.ranks;
  info.found = true;

  fleet::EngineFound found;
  found.engine = engine;
  found.model = model;
  found.pool = pool_for(engine, model);
  if (pool_names_[*found.pool].empty()) pool_names_[*found.pool] = model;
  if (pool_named) pool_named(pool_names_[*found.pool]);
  engine_pools_[engine] = *found.pool;
  found.ranks = configured.ranks.value_or(static_cast<std::uint32_t>(sample.ranks.size()));
  found.steerable = sample.kind != probe::EngineKind::llama_cpp || found.ranks == 1;
  found.max_concurrent = configured.max_num_seqs ? configured.max_num_seqs : slots;
  const probe::RankSample& first = sample.ranks.front();
  if (!found.max_concurrent && first.max_running) found.max_concurrent = static_cast<std::uint32_t>(*first.max_running);
  found.kv_capacity = configured.kv_tokens ? configured.kv_tokens : first.kv_capacity;
  found.prefix_caching = first.prefix_caching;
  found.kv_is_8_bit = first.kv_is_8_bit;
  info.kv_capacity_assumed = !configured.kv_tokens && first.kv_capacity_assumed;
  step(found);
  rebuild_directory();
  if (first.prefix_caching == false)
    warn_once(engine, "prefix caching is off: nothing can be kept warm; start the engine with --enable-prefix-caching");
}

void Brain::engine_sampled(EngineIndex engine, const probe::EngineSample& sample) {
  engines_[engine].ranks = sample.ranks;
  for (const probe::RankSample& rank : sample.ranks)
    step(fleet::ReplicaSampled{engine, rank.rank, rank.running, rank.waiting, rank.kv_usage, rank.prefix_queries,
                               rank.prefix_hits, rank.preemptions});
  advise(engine_pools_[engine]);
}

// While turns wait, what limits is said once a minute.
void Brain::advise(PoolIndex pool) {
  constexpr Duration every = std::chrono::minutes(1);
  if (fleet_.waiting(pool) == 0) return;
  const TimePoint now = loop_.now();
  if (last_advised_[pool] && now - *last_advised_[pool] < every) return;
  last_advised_[pool] = now;
  const fleet::WarmPoolState state = fleet_.warm_pool(pool, fleet_now());
  char waits[96];
  std::snprintf(waits, sizeof waits, "; %zu wait for a seat, the longest for %.1f s", state.waiting,
                state.longest_wait_s);
  log_.info("pool " + pool_names_[pool] + ": " + fleet::advice(state) + waits);
}

void Brain::engine_good(EngineIndex engine) {
  step(fleet::ProbeGood{engine});
  engine_was_looked_at(engine);
}

void Brain::engine_bad(EngineIndex engine, bool refused, const std::string& why) {
  if (fleet_.engine_up(engine)) log_.debug("engine " + engines_of(config_)[engine]->name + ": probe failed: " + why);
  step(fleet::ProbeBad{engine, refused});
  engine_was_looked_at(engine);
}

void Brain::cached_tokens_missing(EngineIndex engine) {
  if (!loop_.is_current()) return loop_.post([this, engine] { cached_tokens_missing(engine); });
  warn_once(
      engine,
      std::string(
          "answers do not say how many prompt tokens were cached, so all count as computed; start the engine with ") +
          cached_tokens_flag(engines_[engine].kind));
}

void Brain::warn_once(EngineIndex engine, const std::string& what) {
  auto& given = engines_[engine].warnings;
  if (std::find(given.begin(), given.end(), what) != given.end()) return;
  given.push_back(what);
  log_.warning("engine " + engines_of(config_)[engine]->name + ": " + what);
}

// ---- the picture for the data path ----

void Brain::rebuild_directory() {
  auto next = std::make_shared<Directory>();
  for (PoolIndex p = 0; p < config_.pools.size(); ++p)
    next->pools.push_back({pool_names_[p], config_.pools[p].aliases});
  const auto configured = engines_of(config_);
  for (EngineIndex e = 0; e < configured.size(); ++e)
    next->engines.push_back(
        {configured[e]->name, configured[e]->url.host + ":" + std::to_string(configured[e]->url.port),
         configured[e]->url, configured[e]->api_key, engines_[e].model, engines_[e].kind, engine_pools_[e]});
  const auto replicas = fleet_.replicas(fleet_now());
  std::vector<std::uint32_t> ranks_of(configured.size(), 0);
  for (const auto& replica : replicas)
    if (!replica.retired && replica.rank) ++ranks_of[replica.engine];
  next->replicas.resize(replicas.size());
  for (const auto& replica : replicas) {
    ReplicaEntry& entry = next->replicas[replica.index];
    entry.engine = replica.engine;
    const std::string rank = replica.rank ? std::to_string(*replica.rank) : "any";
    entry.id = pool_names_[replica.pool] + "/" + configured[replica.engine]->name + "/" + rank;
    if (ranks_of[replica.engine] > 1) entry.steer_to = replica.rank;
  }
  directory_.set(std::move(next));
}

}  // namespace wg::gateway
