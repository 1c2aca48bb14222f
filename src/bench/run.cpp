#include "bench/run.h"

#include <sys/resource.h>

#include <algorithm>

#include "core/hash.h"

namespace wg::bench {
namespace {

constexpr Duration cool_for = std::chrono::seconds(5), idle_within = std::chrono::seconds(30),
                   look_at_most_every = std::chrono::milliseconds(200);

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

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
    opens_.push_back(std::make_unique<OpenTarget>(loop_, plan_.targets[i]));
    TargetFacts& facts = result_.targets.emplace_back();
    const auto opened = co_await opens_.back()->open(facts, plan_.reset_prefix_cache);
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

// ---- arms ----

void Bench::make_arms() {
  for (std::size_t t = 0; t < opens_.size(); ++t) {
    const OpenTarget& open = *opens_[t];
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

net::Task<Result<void>> Bench::prepare(const Arm& arm, OpenTarget& open) {
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
  OpenTarget& open = *opens_[arm.target];
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
  const ResultPlace place{arm.target, cell.arm * plan_.sessions.size() + cell.step, cell.seed};
  keep(result_, place, std::move(measured), looks, plan_.time_scale);
  co_return Result<void>();
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
