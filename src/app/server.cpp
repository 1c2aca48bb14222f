#include "app/server.h"

#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "app/resources.h"
#include "collect/poller.h"
#include "console/admin.h"
#include "core/assert.h"
#include "core/reserve.h"
#include "gateway/connection.h"
#include "net/listener.h"

namespace wg::app {
namespace {

// An engine that does not answer its first questions must not keep the others from their work.
constexpr Duration open_at_the_latest = std::chrono::seconds(3);

// Given up when an allocation fails: enough for every request under way to end.
constexpr std::size_t reserve_bytes = 16 << 20;
constexpr Duration look_after_memory = std::chrono::milliseconds(500);

// One I/O loop with its listener, on a thread of its own (but the first, which is main's and the brain's).
struct Lane {
  net::Loop loop;
  std::unique_ptr<gateway::LoopContext> context;
  std::unique_ptr<net::Listener> listener;
  std::thread thread;
};

// A broken assumption anywhere in the process ends up in the log. Set while a server lives.
std::atomic<record::Log*> bug_log{nullptr};

void log_bug(const char* file, int line, const char* what) {
  if (record::Log* const log = bug_log)
    log->error("bug at " + std::string(file) + ":" + std::to_string(line) + ": " + what);
}

std::string url_of(const config::Address& address, std::uint16_t port) {
  return "http://" + config::Address{address.host, port}.text();
}

}  // namespace

struct Gateway::State {
  explicit State(const config::Config& config)
      : config_(config),
        log_({config.log.format, config.log.file, config.log.level}),
        lanes_(std::max(1u, config.threads)),
        brain_(lanes_[0].loop, config, log_),
        shared_{config, brain_, log_, metrics_},
        watchdog_(lanes_[0].loop, [this] { check_drained(); }),
        opening_(lanes_[0].loop, [this] { open(); }),
        memory_(lanes_[0].loop, [this] { look_after_the_memory(); }) {
    bug_log = &log_;
    bug_sink = log_bug;
  }
  ~State() { bug_log = nullptr; }

  Result<void> start();
  int run();
  Result<void> listen();
  void start_pollers();
  void first_look_over(EngineIndex engine);
  void open();
  void drain();
  void check_drained();
  void finish(int status);
  void measure_the_machine();
  void look_after_the_memory();

  const config::Config& config_;
  record::Log log_;
  record::Metrics metrics_;
  std::vector<Lane> lanes_;
  gateway::Brain brain_;
  gateway::Shared shared_;
  std::vector<std::unique_ptr<collect::Poller>> pollers_;
  std::unique_ptr<console::Admin> admin_;
  net::Timer watchdog_, opening_, memory_;
  bool short_of_memory_ = false;
  std::uint64_t losses_told_ = 0;
  std::set<EngineIndex> unseen_;  // engines whose first look is not over
  bool is_open_ = false;
  std::function<void()> opened_;
  TimePoint drain_until_{};
  int status_ = 0;
};

Result<void> Gateway::State::listen() {
  std::uint16_t port = config_.listen.port;
  for (Lane& lane : lanes_) {
    auto listener = net::Listener::bind(lane.loop, config_.listen.host, port, lanes_.size() > 1);
    if (!listener) return tl::unexpected(listener.error());
    port = listener->port();
    lane.listener = std::make_unique<net::Listener>(std::move(*listener));
    lane.context = std::make_unique<gateway::LoopContext>(lane.loop, shared_);
  }
  auto admin = net::Listener::bind(lanes_[0].loop, config_.admin.host, config_.admin.port, false);
  if (!admin) return tl::unexpected(admin.error());
  admin_ = std::make_unique<console::Admin>(shared_, std::move(*admin));
  return {};
}

void Gateway::State::start_pollers() {
  for (const config::Pool& pool : config_.pools)
    for (const config::Engine& engine : pool.engines) {
      const auto index = static_cast<EngineIndex>(pollers_.size());
      collect::Reports reports;
      reports.found = [this, index](const std::string& model, const probe::EngineSample& sample,
                                    std::optional<std::uint32_t> slots) {
        brain_.engine_found(index, model, sample, slots);
      };
      reports.sampled = [this, index](const probe::EngineSample& sample) { brain_.engine_sampled(index, sample); };
      reports.good = [this, index] {
        brain_.engine_good(index);
        first_look_over(index);
      };
      reports.bad = [this, index](bool refused, const std::string& why) {
        brain_.engine_bad(index, refused, why);
        first_look_over(index);
      };
      reports.warning = [this, index](const std::string& what) { brain_.warn_once(index, what); };
      unseen_.insert(index);
      pollers_.push_back(std::make_unique<collect::Poller>(lanes_[0].loop, engine, pool.model, std::move(reports)));
    }
  brain_.pool_named = [this](const std::string& pool) { metrics_.add_pool(pool); };
  brain_.set_probe_interval = [this](EngineIndex engine, Duration interval) {
    pollers_[engine]->set_interval(interval);
  };
  brain_.look_now = [this](EngineIndex engine) { pollers_[engine]->look_now(); };
  brain_.look_anew = [this](EngineIndex engine) { pollers_[engine]->look_anew(); };
  for (auto& poller : pollers_) poller->start();
}

Result<void> Gateway::State::start() {
  raise_descriptor_limit();
  shared_.id_seed = std::random_device()() * 0x100000001ull;
  if (auto listening = listen(); !listening) return listening;
  measure_the_machine();
  start_pollers();
  opening_.set(open_at_the_latest);
  return {};
}

void Gateway::State::measure_the_machine() {
  const Connections fit = connections_that_fit(config_);
  shared_.max_connections = fit.clients;
  shared_.max_lingering = fit.refused;
  shared_.max_operators = fit.operators;
  if (!fit.warning.empty()) log_.warning(fit.warning);
  reserve::hold(reserve_bytes);
  shared_.bodies.set_limit(room_for_bodies(config_));
  memory_.set(look_after_memory);
}

// Said when it begins and when it is over, and not for each request that suffers from it.
void Gateway::State::look_after_the_memory() {
  memory_.set(look_after_memory);
  const std::uint64_t losses = reserve::losses.load();
  const bool is_short = reserve::spent() || losses > losses_told_;
  if (is_short && !short_of_memory_)
    log_.error("out of memory: new requests get 503 until there is more; " +
               std::to_string(shared_.bodies.used() >> 20) + " MiB are held by request bodies");
  if (losses > losses_told_)
    log_.error("out of memory: " + std::to_string(losses - losses_told_) + " connection(s) were dropped");
  losses_told_ = losses;
  const bool held_again = !reserve::spent() || reserve::hold(reserve_bytes);
  if (short_of_memory_ && held_again && !is_short) log_.info("memory is there again");
  short_of_memory_ = is_short;
}

// The first requests would be refused for want of replicas if they came before every engine has been looked at.
void Gateway::State::first_look_over(EngineIndex engine) {
  unseen_.erase(engine);
  if (unseen_.empty() && !is_open_) open();
}

void Gateway::State::open() {
  is_open_ = true;
  opening_.cancel();
  for (Lane& lane : lanes_)
    lane.loop.post([this, &lane] {
      lane.listener->start([context = lane.context.get()](
                               net::Stream stream) { net::spawn(gateway::serve(*context, std::move(stream))); },
                           [this](std::string_view what) { log_.warning(what); });
    });
  admin_->start();
  if (opened_) opened_();
}

int Gateway::State::run() {
  for (std::size_t i = 1; i < lanes_.size(); ++i)
    lanes_[i].thread = std::thread([&lane = lanes_[i]] { lane.loop.run(); });
  lanes_[0].loop.run();
  for (Lane& lane : lanes_)
    if (lane.thread.joinable()) lane.thread.join();
  return status_;
}

// First: no new connections, idle ones closed, open answers finish. Second: the end.
void Gateway::State::drain() {
  if (shared_.draining.exchange(true)) return finish(1);
  log_.info("draining: open answers may finish");
  drain_until_ = lanes_[0].loop.now() + config_.timeouts.drain;
  for (Lane& lane : lanes_)
    lane.loop.post([&lane] {
      lane.listener->stop();
      gateway::drain(*lane.context);
    });
  check_drained();
}

void Gateway::State::check_drained() {
  if (shared_.connections == 0) return finish(0);
  if (lanes_[0].loop.now() > drain_until_) {
    log_.warning("timeouts.drain is over: " + std::to_string(shared_.connections.load()) +
                 " connection(s) are cut off");
    return finish(0);
  }
  watchdog_.set(net::Loop::tick);
}

void Gateway::State::finish(int status) {
  status_ = status;
  // The brain's loop first: it must not answer requests of loops that are over.
  gateway::cut_off(*lanes_[0].context);
  lanes_[0].loop.stop();
  for (std::size_t i = 1; i < lanes_.size(); ++i)
    lanes_[i].loop.post([&lane = lanes_[i]] {
      gateway::cut_off(*lane.context);
      lane.loop.stop();
    });
}

Gateway::Gateway(const config::Config& config) : state_(std::make_unique<State>(config)) {}
Gateway::~Gateway() = default;

Result<void> Gateway::start(std::function<void()> opened) {
  state_->opened_ = std::move(opened);
  return state_->start();
}
int Gateway::run() { return state_->run(); }
void Gateway::drain() { state_->drain(); }
net::Loop& Gateway::loop() const { return state_->lanes_[0].loop; }
gateway::Shared& Gateway::shared() const { return state_->shared_; }
std::uint16_t Gateway::port() const { return state_->lanes_[0].listener->port(); }
std::string Gateway::url() const { return url_of(state_->config_.listen, port()); }
std::string Gateway::admin_url() const { return url_of(state_->config_.admin, state_->admin_->port()); }

}  // namespace wg::app
