#include "collect/poller.h"

#include "collect/discovery.h"

namespace wg::collect {
namespace {
constexpr Duration look_timeout = std::chrono::seconds(2);
constexpr Duration shortest_sleep = std::chrono::milliseconds(5);  // also if somebody asks for a look
constexpr std::size_t page_limit = 16 << 20;
}  // namespace

struct Poller::State {
  State(net::Loop& its_loop, const config::Engine& engine, std::string its_wanted, Reports its_reports)
      : loop(its_loop),
        client(loop, {engine.url.host, engine.url.port, engine.url.base_path, engine.api_key}),
        wanted(std::move(its_wanted)),
        reports(std::move(its_reports)),
        alarm(loop, [this] { wake(); }) {}

  void wake() {
    alarm.cancel();
    if (const auto asleep = std::exchange(sleeper, nullptr)) asleep.resume();
  }

  struct Sleep {
    State& state;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> self) {
      state.sleeper = self;
      state.asleep_since = state.loop.now();
      state.alarm.set(state.interval);
    }
    void await_resume() const {}
  };

  net::Loop& loop;
  net::HttpClient client;
  std::string wanted;
  Reports reports;
  Duration interval = std::chrono::milliseconds(200);
  net::Timer alarm;
  std::coroutine_handle<> sleeper;
  TimePoint asleep_since{};
  bool stopped = false;
  bool anew = false;  // the look under way began too early

  bool known = false;  // discovered since it was last down
  std::string model;
  std::size_t ranks = 0;
};

namespace {

using State = Poller::State;
using StatePtr = std::shared_ptr<State>;

bool is_refusal(const Error& error) { return error.what.starts_with("refused"); }

// The metrics page as a sample. An engine that answers without such a page is there all the same: it has one rank, and
// nothing is known of its load.
net::Task<Result<probe::EngineSample>> scrape(StatePtr s) {
  const auto page = co_await s->client.get("/metrics", look_timeout, page_limit);
  if (!page) co_return tl::unexpected(page.error());
  if (page->status == 200) {
    auto sample = probe::parse_metrics(page->body);
    if (sample) co_return sample;
  } else if (page->status >= 500 && page->status != 501) {
    co_return fail(Fault::upstream, "/metrics answers " + std::to_string(page->status));
  }
  s->reports.warning(
      "it shows no load figures at /metrics; start llama.cpp with --metrics, SGLang with --enable-metrics, vLLM "
      "without --disable-log-stats");
  probe::EngineSample bare;
  bare.kind = page->status == 501 ? probe::EngineKind::llama_cpp : probe::EngineKind::unknown;
  bare.ranks.resize(1);
  co_return bare;
}

// Asks what it serves. Only when it is new, came back, or its metrics say that it has changed.
net::Task<Result<void>> discover(StatePtr s, probe::EngineSample sample) {
  const auto models = co_await s->client.get("/v1/models", look_timeout, page_limit);
  if (!models) co_return tl::unexpected(models.error());
  if (models->status == 401 || models->status == 403)
    co_return fail(Fault::upstream,
                   "/v1/models answers " + std::to_string(models->status) + ": set the engine's api_key_env");
  const auto model = model_of(models->body, s->wanted);
  if (!model) co_return tl::unexpected(model.error());
  std::optional<std::uint32_t> slots;
  if (sample.kind == probe::EngineKind::llama_cpp) {
    const auto props = co_await s->client.get("/props", look_timeout, page_limit);
    if (props && props->status == 200) slots = slots_of(props->body);
  }
  s->known = true;
  s->model = sample.model;
  s->ranks = sample.ranks.size();
  s->reports.found(*model, sample, slots);
  co_return Result<void>();
}

net::Task<Result<void>> look(StatePtr s) {
  const auto health = co_await s->client.get("/health", look_timeout, page_limit);
  if (!health) co_return tl::unexpected(health.error());
  if (health->status != 200) co_return fail(Fault::upstream, "/health answers " + std::to_string(health->status));
  const auto sample = co_await scrape(s);
  if (!sample) co_return tl::unexpected(sample.error());
  const bool changed = s->known && (sample->ranks.size() != s->ranks || sample->model != s->model);
  if (!s->known || changed) {
    const auto found = co_await discover(s, *sample);
    if (!found) co_return found;
  }
  s->reports.sampled(*sample);
  co_return Result<void>();
}

net::Task<void> poll(StatePtr s) {
  while (!s->stopped) {
    s->anew = false;
    const auto seen = co_await look(s);
    if (s->stopped) break;
    if (s->anew && seen) continue;
    if (seen) {
      s->reports.good();
    } else if (seen.error().fault != Fault::self) {  // that we are out of descriptors says nothing about the engine
      s->known = false;                              // what comes back may be something else
      s->reports.bad(is_refusal(seen.error()), seen.error().what);
    }
    co_await State::Sleep{*s};
  }
}

}  // namespace

Poller::Poller(net::Loop& loop, const config::Engine& engine, std::string wanted_model, Reports reports)
    : state_(std::make_shared<State>(loop, engine, std::move(wanted_model), std::move(reports))) {}

Poller::~Poller() { state_->stopped = true; }

void Poller::start() {
  state_->loop.post([state = state_] { net::spawn(poll(state)); });
}

void Poller::set_interval(Duration interval) {
  const bool sooner = interval < state_->interval;
  state_->interval = interval;
  if (sooner && state_->sleeper) state_->alarm.set(interval);
}

void Poller::look_now() {
  State& s = *state_;
  if (!s.sleeper) return;  // it is looking already
  if (s.loop.now() - s.asleep_since < shortest_sleep) return s.alarm.set(shortest_sleep);
  s.loop.post([state = state_] { state->wake(); });
}

void Poller::look_anew() {
  state_->anew = true;
  look_now();
}

}  // namespace wg::collect
