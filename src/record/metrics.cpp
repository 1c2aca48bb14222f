#include "record/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "record/catalogue.h"
#include "record/scraped.h"

namespace wg::record {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Histogram;

// The last place of a list stands for all that is not in it.
template <std::size_t N>
std::size_t place_of(const std::array<std::string_view, N>& list, std::string_view value) {
  if (value.empty()) value = "none";
  const auto found = std::find(list.begin(), list.end(), value);
  return found == list.end() ? N - 1 : static_cast<std::size_t>(found - list.begin());
}

std::size_t status_class_of(int status) {
  const auto hundreds = static_cast<std::size_t>(std::max(status, 0) / 100);
  return hundreds >= 1 && hundreds <= 5 ? hundreds - 1 : catalogue::status_classes.size() - 1;
}

double non_negative(Tokens tokens) { return static_cast<double>(std::max<std::int64_t>(tokens.count, 0)); }

Family<Counter>& counter_family(prometheus::Registry& registry, const catalogue::Metric& metric) {
  return prometheus::BuildCounter().Name(std::string(metric.name)).Help(std::string(metric.help)).Register(registry);
}
Family<Histogram>& histogram_family(prometheus::Registry& registry, const catalogue::Metric& metric) {
  return prometheus::BuildHistogram().Name(std::string(metric.name)).Help(std::string(metric.help)).Register(registry);
}

struct Families {
  explicit Families(prometheus::Registry& registry)
      : requests(counter_family(registry, catalogue::requests)),
        responses(counter_family(registry, catalogue::responses)),
        prompt_tokens(counter_family(registry, catalogue::prompt_tokens)),
        output_tokens(counter_family(registry, catalogue::output_tokens)),
        retries(counter_family(registry, catalogue::retries)),
        refused_connections(counter_family(registry, catalogue::refused_connections)),
        ttft(histogram_family(registry, catalogue::ttft)),
        request_time(histogram_family(registry, catalogue::request_time)),
        wait_time(histogram_family(registry, catalogue::wait_time)) {}

  Family<Counter>&requests, &responses, &prompt_tokens, &output_tokens, &retries, &refused_connections;
  Family<Histogram>&ttft, &request_time, &wait_time;
};

Histogram& histogram(Family<Histogram>& family, const std::string& pool, const catalogue::Metric& metric) {
  return family.Add({{"pool", pool}}, Histogram::BucketBoundaries(metric.buckets.begin(), metric.buckets.end()));
}

// The handles of one pool. All but `requests` exist from the start, so that rates have a zero to begin with; of the 504
// combinations in `requests` few ever occur, and each is made when it does.
class PoolHandles {
 public:
  PoolHandles(Families& families, std::string pool)
      : families_(families),
        pool_(std::move(pool)),
        output_(families.output_tokens.Add({{"pool", pool_}})),
        ttft_(histogram(families.ttft, pool_, catalogue::ttft)),
        request_time_(histogram(families.request_time, pool_, catalogue::request_time)),
        wait_time_(histogram(families.wait_time, pool_, catalogue::wait_time)) {
    for (std::size_t i = 0; i < responses_.size(); ++i)
      responses_[i] =
          &families.responses.Add({{"pool", pool_}, {"status_class", std::string(catalogue::status_classes[i])}});
    for (std::size_t i = 0; i < prompt_.size(); ++i)
      prompt_[i] = &families.prompt_tokens.Add({{"pool", pool_}, {"kind", std::string(catalogue::prompt_kinds[i])}});
  }

  const std::string& pool() const { return pool_; }

  void count(const FinishedRequest& request) {
    requests(request).Increment();
    responses_[status_class_of(request.status)]->Increment();
    const double prompt = non_negative(request.prompt), cached = std::min(non_negative(request.cached), prompt);
    if (request.measured) {
      prompt_[0]->Increment(cached);
      prompt_[1]->Increment(prompt - cached);
    } else {
      prompt_[2]->Increment(prompt);
    }
    output_.Increment(non_negative(request.output));
    if (request.ttft) ttft_.Observe(to_seconds(*request.ttft));
    request_time_.Observe(to_seconds(request.total));
    wait_time_.Observe(to_seconds(request.waited));
  }

  void count_retry(std::string_view reason) {
    const std::size_t place = place_of(catalogue::retry_reasons, reason);
    made_once(retries_[place], families_.retries,
              {{"pool", pool_}, {"reason", std::string(catalogue::retry_reasons[place])}})
        .Increment();
  }

 private:
  Counter& requests(const FinishedRequest& request) {
    const std::size_t api = place_of(catalogue::apis, request.api), route = place_of(catalogue::routes, request.route),
                      outcome = place_of(catalogue::outcomes, request.outcome);
    const std::size_t place = (api * catalogue::routes.size() + route) * catalogue::outcomes.size() + outcome;
    if (Counter* known = requests_[place].load(std::memory_order_acquire)) return *known;
    return made_once(requests_[place], families_.requests,
                     {{"pool", pool_},
                      {"api", std::string(catalogue::apis[api])},
                      {"route", std::string(catalogue::routes[route])},
                      {"outcome", std::string(catalogue::outcomes[outcome])}});
  }

  // Two threads may come here at once: the family gives both the same counter.
  static Counter& made_once(std::atomic<Counter*>& handle, Family<Counter>& family, const prometheus::Labels& labels) {
    if (Counter* known = handle.load(std::memory_order_acquire)) return *known;
    Counter& made = family.Add(labels);
    handle.store(&made, std::memory_order_release);
    return made;
  }

  Families& families_;
  std::string pool_;
  std::array<std::atomic<Counter*>, catalogue::apis.size() * catalogue::routes.size() * catalogue::outcomes.size()>
      requests_{};
  std::array<std::atomic<Counter*>, catalogue::retry_reasons.size()> retries_{};
  std::array<Counter*, catalogue::status_classes.size()> responses_{};
  std::array<Counter*, catalogue::prompt_kinds.size()> prompt_{};
  Counter& output_;
  Histogram& ttft_;
  Histogram& request_time_;
  Histogram& wait_time_;
};

// Made at its first request: mostly there is none, and then no series of zeros either.
class Rare {
 public:
  PoolHandles& of(Families& families, const char* pool) {
    std::call_once(made_, [&] { handles_ = std::make_unique<PoolHandles>(families, pool); });
    return *handles_;
  }

 private:
  std::once_flag made_;
  std::unique_ptr<PoolHandles> handles_;
};

}  // namespace

// Pools are only ever added: readers see `known` of them without a lock.
struct Metrics::State {
  static constexpr std::size_t most_pools = 256;

  State() : families(registry), refused(families.refused_connections.Add({})) {}

  PoolHandles& of(std::string_view pool) {
    if (pool.empty()) return none.of(families, "none");
    const std::size_t count = known.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i)
      if (pools[i]->pool() == pool) return *pools[i];
    return other.of(families, "other");
  }

  prometheus::Registry registry;
  Families families;
  Counter& refused;
  Rare none, other;
  std::mutex adding;
  std::array<std::unique_ptr<PoolHandles>, most_pools> pools;
  std::atomic<std::size_t> known{0};
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

void Metrics::add_pool(std::string_view pool) {
  if (pool.empty()) return;
  const std::lock_guard lock(state_->adding);
  const std::size_t count = state_->known.load(std::memory_order_relaxed);
  if (count == State::most_pools) return;
  for (std::size_t i = 0; i < count; ++i)
    if (state_->pools[i]->pool() == pool) return;
  state_->pools[count] = std::make_unique<PoolHandles>(state_->families, std::string(pool));
  state_->known.store(count + 1, std::memory_order_release);
}

void Metrics::count(const FinishedRequest& request) { state_->of(request.pool).count(request); }

void Metrics::count_retry(std::string_view pool, std::string_view reason) { state_->of(pool).count_retry(reason); }

void Metrics::count_refused_connection() { state_->refused.Increment(); }

std::string Metrics::text(const std::vector<ReplicaGauges>& replicas, const std::vector<PoolGauges>& pools,
                          const ProcessGauges& process) {
  for (const ReplicaGauges& replica : replicas) add_pool(replica.pool);
  return exposition(state_->registry.Collect(), replicas, pools, process);
}

}  // namespace wg::record
