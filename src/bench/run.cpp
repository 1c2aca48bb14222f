#include "bench/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/figures.h"
#include "config/config.h"
#include "core/hash.h"

namespace wg::bench {
namespace {

constexpr Duration question_timeout = std::chrono::seconds(10), cool_for = std::chrono::seconds(5),
                   idle_within = std::chrono::seconds(30), look_at_most_every = std::chrono::milliseconds(200);
constexpr std::size_t page_limit = 16 << 20;

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string url_of(const Target& target) {
  return EngineAddress{target.host, target.port, target.base_path, ""}.text();
}

EngineAddress address_of(const Target& target) {
  return {target.host, target.port, target.base_path, target.credential};
}

// As our own admin API writes it: http://HOST:PORT/PREFIX.
EngineAddress address_of(const std::string& url, const std::string& credential) {
  EngineAddress address;
  const auto parsed = config::parse_url(url);
  if (parsed) address = {parsed->host, parsed->port, parsed->base_path, credential};
  return address;
}

std::string first_model(const std::string& page) {
  const auto json = nlohmann::json::parse(page, nullptr, false);
  if (!json.is_object() || !json.contains("data") || !json["data"].is_array()) return {};
  for (const auto& card : json["data"])
    if (card.is_object() && card.contains("id") && card["id"].is_string()) return card["id"].get<std::string>();
  return {};
}

}  // namespace

struct Bench::Open {
  Open(net::Loop& loop, const TargetPlan& plan) : target(plan.target), caller(loop, target) {}
  Target target;
  Caller caller;  // for our own questions
  std::unique_ptr<AdminClient> admin;
  std::string policy_before;
  std::unique_ptr<EngineWatch> watch;
};

Bench::Bench(net::Loop& loop, BenchPlan plan, Progress& progress, std::function<void()> finished)
    : loop_(loop), plan_(std::move(plan)), progress_(progress), finished_(std::move(finished)), nap_(loop) {}

Bench::~Bench() = default;

void Bench::start() { net::spawn(run()); }

void Bench::interrupt() {
  result_.interrupted = true;
  if (load_) load_->stop();
  for (const auto& open : opens_) open->caller.cancel();
  nap_.rouse();
}

net::Task<void> Bench::run() {
  const auto done = co_await run_all();
  if (!done && !result_.interrupted) result_.error = done.error().what;
  co_await restore_policies();
  std::erase_if(result_.runs, [](const sim::ReportRun& run) { return run.rows.seeds.empty(); });
  progress_.end();
  loop_.post([finished = finished_] { finished(); });
}

net::Task<Result<void>> Bench::run_all() {
  for (std::size_t i = 0; i < plan_.targets.size(); ++i) {
    const auto opened = co_await open(i);
    if (!opened) co_return opened;
  }
  make_arms();
  const std::vector<Cell> cells = schedule(arms_.size(), plan_.sessions.size(), plan_.seeds);
  const TimePoint began = loop_.now();
  const double processor_before = processor_seconds();
  Result<void> outcome;
  for (std::size_t i = 0; i < cells.size() && outcome && !result_.interrupted; ++i)
    outcome = co_await run_cell(cells[i], i, cells.size());
  result_.processor_share = (processor_seconds() - processor_before) / std::max(0.001, to_seconds(loop_.now() - began));
  co_return outcome;
}

// ---- targets ----

net::Task<Result<void>> Bench::open(std::size_t number) {
  opens_.push_back(std::make_unique<Open>(loop_, plan_.targets[number]));
  result_.targets.emplace_back();
  Open& open = *opens_.back();
  const auto found = co_await find_model(open);
  if (!found) co_return found;
  if (plan_.targets[number].admin) {
    open.admin = std::make_unique<AdminClient>(loop_, *plan_.targets[number].admin);
    const auto looked = co_await open.admin->look(open.target.model);
    if (!looked) co_return looked;
    const auto policy = co_await open.admin->policy();
    if (!policy) co_return tl::unexpected(policy.error());
    open.policy_before = *policy;
  }
  co_await watch_engines(open);
  TargetFacts& facts = result_.targets.back();
  facts.calibration = co_await calibrate(
      open.caller, open.target, mix(0x63616c, static_cast<std::uint64_t>(loop_.now().time_since_epoch().count())));
  open.target.simulated = facts.calibration.simulated;
  open.target.bytes_per_token = facts.calibration.bytes_per_token;
  facts.name = open.target.name;
  facts.url = url_of(open.target);
  facts.model = open.target.model;
  co_return Result<void>();
}

net::Task<Result<void>> Bench::find_model(Open& open) {
  net::HttpClient::Target to;
  to.host = open.target.host;
  to.port = open.target.port;
  to.base_path = open.target.base_path;
  to.credential = open.target.credential;
  net::HttpClient client(loop_, to);
  const std::string where = url_of(open.target) + "/v1/models";
  const auto reply = co_await client.get("/v1/models", question_timeout, page_limit);
  if (!reply) co_return fail(Fault::upstream, where + ": " + reply.error().what);
  if (!open.target.model.empty()) co_return Result<void>();
  if (reply->status == 200) open.target.model = first_model(reply->body);
  if (open.target.model.empty())
    co_return fail(Fault::upstream, where + " names no model (it answers " + std::to_string(reply->status) +
                                        "): give one as --model NAME");
  co_return Result<void>();
}

net::Task<void> Bench::watch_engines(Open& open) {
  TargetFacts& facts = result_.targets.back();
  const TargetPlan& plan = plan_.targets[opens_.size() - 1];
  std::vector<EngineAddress> engines = plan.engines;
  if (engines.empty() && open.admin)
    for (const std::string& url : open.admin->engine_urls()) engines.push_back(address_of(url, open.target.credential));
  if (engines.empty()) engines.push_back(address_of(open.target));
  facts.engines = engines.size();
  open.watch = std::make_unique<EngineWatch>(loop_, engines);
  const EngineLook look = co_await open.watch->look();
  facts.ranks = look.ranks;
  if (look.complete) co_return;
  facts.engines = 0;
  // Something that is no engine, or hides its figures. Its caches may still be reset if it was named as an engine.
  if (!plan_.reset_prefix_cache) open.watch = std::make_unique<EngineWatch>(loop_, std::vector<EngineAddress>());
}

void Bench::make_arms() {
  for (std::size_t t = 0; t < opens_.size(); ++t) {
    const Open& open = *opens_[t];
    if (!open.admin || plan_.policies.empty())
      arms_.push_back({t, "", open.policy_before.empty() ? "-" : open.policy_before});
    else
      for (const std::string& policy : plan_.policies) arms_.push_back({t, policy, policy});
  }
  for (const Arm& arm : arms_)
    for (const std::uint32_t sessions : plan_.sessions) {
      sim::LoopRows& rows = result_.runs.emplace_back().rows;
      rows.target = opens_[arm.target]->target.name;
      rows.policy = arm.shown_as;
      rows.sessions = sessions;
    }
}

net::Task<void> Bench::restore_policies() {
  for (const auto& open : opens_) {
    if (!open->admin || plan_.policies.empty() || open->policy_before.empty()) continue;
    const auto restored = co_await open->admin->set_policy(open->policy_before);
    if (!restored) progress_.note("the policy is not what it was before: " + restored.error().what);
  }
}

// ---- one load ----

// Of every arm, number of sessions and seed the same sizes and pauses, and a text of its own.
LoadPlan Bench::load_plan(const Arm& arm, const Cell& cell) const {
  LoadPlan plan;
  plan.target = opens_[arm.target]->target;
  plan.work = plan_.work;
  plan.sessions = plan_.sessions[cell.step];
  plan.warmup = real(plan_.warmup);
  plan.length = real(plan_.step);
  plan.time_scale = plan_.time_scale;
  plan.seed = cell.seed;
  plan.text =
      mix(mix(mix(static_cast<std::uint64_t>(loop_.now().time_since_epoch().count()), cell.arm), cell.step), cell.seed);
  return plan;
}

net::Task<Result<void>> Bench::prepare(const Arm& arm, Open& open) {
  if (!arm.policy.empty()) {
    const auto set = co_await open.admin->set_policy(arm.policy);
    if (!set) co_return set;
  }
  const Duration cooling = real(cool_for);
  co_await nap_.sleep(cooling);
  const TimePoint until = loop_.now() + idle_within;
  while (open.watch->any() && !result_.interrupted && loop_.now() < until) {
    const EngineLook look = co_await open.watch->look();
    if (!look.complete || look.requests == 0) break;
    co_await nap_.sleep(look_at_most_every);
  }
  if (!plan_.reset_prefix_cache || result_.interrupted) co_return Result<void>();
  const auto reset = co_await open.watch->reset_prefix_caches();
  co_return reset;
}

net::Task<Result<void>> Bench::run_cell(Cell cell, std::size_t number, std::size_t cells) {
  const Arm& arm = arms_[cell.arm];
  Open& open = *opens_[arm.target];
  const std::string what = (opens_.size() > 1 ? open.target.name + " " : std::string()) + arm.shown_as + ", " +
                           std::to_string(plan_.sessions[cell.step]) + " sessions";
  show(what, number, cells);
  const auto prepared = co_await prepare(arm, open);
  if (!prepared || result_.interrupted) co_return prepared;

  std::vector<EngineLook> looks;  // from the beginning of the measuring on
  EngineLook look = co_await open.watch->look();
  if (plan_.warmup <= Duration::zero()) looks.push_back(std::move(look));
  load_over_ = false;
  load_began_ = loop_.now();
  load_ = std::make_unique<Load>(
      loop_, load_plan(arm, cell),
      [this] {
        load_over_ = true;
        nap_.rouse();
      },
      [this] { nap_.rouse(); });
  load_->start();
  const Duration look_every = std::max(real(std::chrono::seconds(1)), look_at_most_every);
  while (!load_over_) {
    co_await nap_.sleep(look_every);
    if (load_over_) break;
    look = co_await open.watch->look();
    show(what, number, cells);
    if (load_->is_measuring()) looks.push_back(std::move(look));
  }
  look = co_await open.watch->look();
  looks.push_back(std::move(look));
  const bool was_measuring = load_->is_measuring();
  Measured measured = load_->take();
  load_.reset();
  if (!was_measuring) co_return Result<void>();
  keep(cell, std::move(measured), looks);
  co_return Result<void>();
}

void Bench::keep(const Cell& cell, Measured measured, const std::vector<EngineLook>& looks) {
  const EngineLook &before = looks.front(), &after = looks.back();
  TargetFacts& facts = result_.targets[arms_[cell.arm].target];
  const bool counted = before.complete && after.complete && after.prefix_queries > before.prefix_queries &&
                       after.prefix_hits >= before.prefix_hits;  // not started anew meanwhile
  if (counted && after.preemptions >= before.preemptions)
    measured.preemptions = static_cast<std::uint64_t>(after.preemptions - before.preemptions);
  for (std::size_t i = 1; i + 1 < looks.size(); ++i)
    if (looks[i].complete) measured.busy.push_back(looks[i].busy);
  sim::LoopRow row = loop_row(figures(measured, plan_.time_scale));
  if (std::isfinite(row.prefix_hit_share)) facts.hits_from = "usage";
  if (counted) {
    row.prefix_hit_share = (after.prefix_hits - before.prefix_hits) / (after.prefix_queries - before.prefix_queries);
    facts.hits_from = "engines";
  }
  if (std::isfinite(row.stayed_share)) facts.stayed_from = "answers";
  for (const auto& [kind, count] : measured.failures_by_kind) result_.failures[kind] += count;
  result_.failed += measured.failures;
  result_.asked += measured.failures + measured.turns.size();
  if (!measured.last_failure.empty()) result_.last_failure = measured.last_failure;
  sim::ReportRun& run = result_.runs[cell.arm * plan_.sessions.size() + cell.step];
  run.rows.seeds.push_back(row);
  if (cell.seed > 1) return;
  run.samples = samples_of(looks);
  if (result_.replicas.empty())
    for (const EngineLook::Rank& rank : after.by_rank) result_.replicas.push_back(rank.name);
}

// Looks at another number of ranks than the last one had are left out: an engine was gone.
std::vector<sim::LoopSample> Bench::samples_of(const std::vector<EngineLook>& looks) const {
  std::vector<sim::LoopSample> samples;
  const EngineLook* before = &looks.front();
  for (std::size_t i = 1; i < looks.size(); ++i) {
    const EngineLook& look = looks[i];
    if (!look.complete || !before->complete || look.by_rank.size() != looks.back().by_rank.size()) continue;
    sim::LoopSample& sample = samples.emplace_back();
    sample.at_s = to_seconds(look.at - looks.front().at) * plan_.time_scale;
    sample.busy = look.busy;
    const double queries = look.prefix_queries - before->prefix_queries, hits = look.prefix_hits - before->prefix_hits;
    sample.cached_tokens = std::max(0.0, hits);
    sample.computed_tokens = std::max(0.0, queries - hits);
    for (const EngineLook::Rank& rank : look.by_rank) sample.kv_usage.push_back(rank.kv_usage.value_or(0));
    before = &look;
  }
  return samples;
}

void Bench::show(const std::string& what, std::size_t number, std::size_t cells) {
  Standing standing;
  standing.what = what;
  const Duration each = real(plan_.warmup + plan_.step + cool_for);
  const Duration within = load_ ? std::min(loop_.now() - load_began_ + real(cool_for), each) : Duration::zero();
  const Duration left = each * static_cast<int>(cells - number) - within;
  standing.left = left;
  standing.done = 1 - to_seconds(left) / to_seconds(each * static_cast<int>(cells));
  if (load_) standing.turns = load_->measured().turns.size(), standing.failures = load_->measured().failures;
  progress_.show(standing, loop_.now());
}

}  // namespace wg::bench
