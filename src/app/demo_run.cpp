#include "app/demo_run.h"

#include <algorithm>
#include <iostream>

#include "app/demo_table.h"
#include "app/engine_thread.h"
#include "app/server.h"
#include "bench/load.h"
#include "core/hash.h"

namespace wg::app {
namespace {

constexpr Duration look_every = std::chrono::milliseconds(250), plain_lines_every = std::chrono::seconds(5),
                   wait_for_replicas = std::chrono::seconds(10);
constexpr const char* engine_name = "sim";

replica::Options engine_options(const DemoOptions& options) {
  replica::Options engine;
  engine.name = engine_name;
  engine.ranks = options.ranks;
  engine.preset = options.preset;
  engine.balancer = options.preset.balancer;
  engine.speed = options.speed;
  engine.seed = options.seed;
  return engine;
}

config::Config gateway_config(const DemoOptions& options, std::uint16_t engine_port) {
  config::Engine engine;
  engine.name = engine_name;
  engine.url = {"127.0.0.1", engine_port, ""};
  engine.max_num_seqs = options.preset.engine.max_num_seqs;
  config::Pool pool;
  pool.model = options.preset.model;
  pool.policy = options.policies.front();
  pool.engines.push_back(std::move(engine));
  config::Config config;
  config.listen = options.listen;
  config.admin = options.admin;
  config.pools.push_back(std::move(pool));
  config.time_scale = options.speed;
  config.log.level = "error";
  return config;
}

class Demo {
 public:
  Demo(const DemoOptions& options, const config::Config& config)
      : options_(options),
        gateway_(config),
        signals_(gateway_.loop(), [this](int) { interrupt(); }),
        ticker_(gateway_.loop(), [this] { look(); }),
        table_(options.in_place) {}

  Result<DemoResult> run() {
    if (const auto started = gateway_.start([this] { opened(); }); !started) return tl::unexpected(started.error());
    gateway_.run();
    if (!failure_.empty()) return fail(Fault::self, failure_);
    return result_;
  }

 private:
  void opened();
  void begin_run();
  void look();
  void run_ended();
  void interrupt();
  void end() { gateway_.drain(); }
  std::uint32_t ranks_up() const;

  policy::PolicyName load_policy() const { return options_.policies[result_.rows.size()]; }
  const std::vector<probe::RankSample>& samples() const;
  void poll_busy();
  double preemptions() const;
  std::vector<DemoReplica> replicas() const, replicas_of_run() const;
  bench::Row row_of_run() const;
  void show();

  const DemoOptions& options_;
  Gateway gateway_;
  net::Signals signals_;
  net::Timer ticker_;
  LiveTable table_;
  std::unique_ptr<bench::Load> load_;  // of the run that goes on
  std::vector<DemoReplica> before_;    // counters when it began
  std::vector<std::uint32_t> busy_;
  double preemptions_before_ = 0;
  TimePoint opened_at_{}, last_shown_{};
  DemoResult result_;
  std::string failure_;
};

void Demo::opened() {
  opened_at_ = gateway_.loop().now();
  std::ostream& out = options_.show ? std::cout : std::cerr;
  out << "gateway  " << gateway_.url() << "   try: curl " << gateway_.url() << "/v1/models\n"
      << "admin    " << gateway_.admin_url() << "   " << gateway_.admin_url() << "/api/v1/replicas  "
      << gateway_.admin_url() << "/metrics\n"
      << "engine   " << gateway_.shared().config.pools[0].engines[0].url.text() << "   " << options_.ranks
      << " simulated ranks, preset " << options_.preset.name << ", " << options_.speed << " times faster\n"
      << std::endl;
  look();
}

std::uint32_t Demo::ranks_up() const {
  std::uint32_t up = 0;
  for (const auto& replica : gateway_.shared().brain.fleet().replicas(gateway_.shared().brain.fleet_now()))
    if (replica.rank && replica.up && !replica.retired) ++up;
  return up;
}

// Called again and again from the start to the end.
void Demo::look() {
  const TimePoint now = gateway_.loop().now();
  if (result_.interrupted && !load_) return;
  ticker_.set(look_every);
  if (load_) {
    poll_busy();
    if (options_.in_place || now - last_shown_ >= plain_lines_every) show();
  } else if (ranks_up() == options_.ranks) {
    begin_run();
  } else if (now - opened_at_ > wait_for_replicas) {
    failure_ = "the simulated ranks did not come up";
    end();
  }
}

// Every run has prompts of its own, so what the one before left in the caches is of no use to it.
void Demo::begin_run() {
  const std::size_t number = result_.rows.size();
  gateway_.shared().brain.tell(fleet::PolicyChanged{0, load_policy(), std::nullopt});
  before_ = replicas();
  busy_.clear();
  preemptions_before_ = preemptions();
  bench::LoadPlan plan;
  plan.target.name = "demo";
  plan.target.host = options_.listen.host;
  plan.target.port = gateway_.port();
  plan.target.model = options_.preset.model;
  plan.work.load = options_.preset.load;
  plan.sessions = options_.sessions;
  plan.length = options_.length / static_cast<int>(options_.policies.size());
  plan.time_scale = options_.speed;
  plan.seed = plan.text = mix(options_.seed, number);
  load_ = std::make_unique<bench::Load>(gateway_.loop(), std::move(plan), [this] { run_ended(); });
  load_->start();
}

void Demo::run_ended() {
  show();
  table_.keep();
  const std::string failure = load_->measured().last_failure;
  if (!failure.empty()) result_.last_failure = failure;
  result_.rows.push_back(row_of_run());
  load_.reset();
  if (options_.show) std::cout << std::endl;
  if (result_.interrupted || result_.rows.size() == options_.policies.size()) return end();
}

// First: what runs is broken off and shown. Second: the end at once.
void Demo::interrupt() {
  if (result_.interrupted || !load_) gateway_.drain();
  if (load_ && !result_.interrupted) load_->stop();
  result_.interrupted = true;
}

// ---- what is there to see ----

// Of the last look at the engine, a second ago at most.
const std::vector<probe::RankSample>& Demo::samples() const { return gateway_.shared().brain.engines()[0].ranks; }

void Demo::poll_busy() {
  const auto samples = this->samples();
  busy_.push_back(static_cast<std::uint32_t>(
      std::count_if(samples.begin(), samples.end(), [](const auto& rank) { return rank.running + rank.waiting > 0; })));
}

double Demo::preemptions() const {
  double sum = 0;
  for (const probe::RankSample& rank : samples()) sum += rank.preemptions;
  return sum;
}

std::vector<DemoReplica> Demo::replicas() const {
  std::vector<DemoReplica> rows;
  const gateway::Brain& brain = gateway_.shared().brain;
  for (const auto& replica : brain.fleet().replicas(brain.fleet_now())) {
    if (!replica.rank || replica.retired) continue;
    DemoReplica row;
    row.name = brain.directory().get()->replicas[replica.index].id;
    row.up = replica.up;
    row.placed = replica.turns.placed, row.sticky = replica.turns.sticky;
    row.spilled = replica.turns.spilled;
    row.in_flight = replica.in_flight;
    row.kv_usage = replica.kv_usage.value_or(0);
    for (const probe::RankSample& sample : samples()) {
      if (sample.rank != *replica.rank) continue;
      row.cached = sample.prefix_hits;
      row.computed = sample.prefix_queries - sample.prefix_hits;
      // Without steering only the engine knows where its requests are.
      if (load_policy() == policy::PolicyName::off) row.in_flight = sample.running + sample.waiting;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// The same since the run began, with the answers that came from each.
std::vector<DemoReplica> Demo::replicas_of_run() const {
  std::vector<DemoReplica> rows = replicas();
  const auto& answered = load_->measured().turns_by_place;
  for (std::size_t i = 0; i < rows.size() && i < before_.size(); ++i) {
    DemoReplica& row = rows[i];
    const DemoReplica& before = before_[i];
    row.placed -= before.placed, row.sticky -= before.sticky;
    row.spilled -= before.spilled;
    row.cached -= before.cached, row.computed -= before.computed;
    const auto found = answered.find(std::string(engine_name) + "/" + std::to_string(i));
    row.requests = found == answered.end() ? 0 : found->second;
  }
  return rows;
}

bench::Row Demo::row_of_run() const {
  bench::Measured measured = load_->measured();
  if (measured.ended == TimePoint()) measured.ended = gateway_.loop().now();
  measured.busy = busy_;
  measured.preemptions = static_cast<std::uint64_t>(std::max(0.0, preemptions() - preemptions_before_));
  bench::Row row = bench::figures(measured, options_.speed);
  row.target = "demo";
  row.policy = policy::name_of(load_policy());
  row.sessions = options_.sessions;
  return row;
}

void Demo::show() {
  last_shown_ = gateway_.loop().now();
  if (!options_.show) return;
  DemoProgress progress;
  progress.so_far = row_of_run();
  progress.policy = progress.so_far.policy;
  progress.elapsed_s = to_seconds(last_shown_ - load_->measured().began);
  progress.length_s = to_seconds(load_->plan().length);
  progress.sessions = options_.sessions;
  progress.last_failure = load_->measured().last_failure;
  table_.show(table_lines(replicas_of_run(), progress));
}

}  // namespace

Result<DemoResult> run_demo(const DemoOptions& options) {
  const auto engine = replica::checked(engine_options(options));
  if (!engine) return tl::unexpected(engine.error());
  EngineThread engines(*engine);
  if (const auto started = engines.start(); !started) return tl::unexpected(started.error());
  const config::Config config = gateway_config(options, engines.port());
  Demo demo(options, config);
  return demo.run();
}

}  // namespace wg::app
