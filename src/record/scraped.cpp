#include "record/scraped.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>

#include "record/catalogue.h"

namespace wg::record {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using Labels = std::vector<ClientMetric::Label>;

class FamilyBuilder {
 public:
  explicit FamilyBuilder(const catalogue::Metric& metric) : is_counter_(metric.type == catalogue::Type::counter) {
    family_.name = metric.name;
    family_.help = metric.help;
    family_.type = is_counter_ ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  }

  void add(Labels labels, double value) {
    ClientMetric series;
    series.label = std::move(labels);
    (is_counter_ ? series.counter.value : series.gauge.value) = value;
    family_.metric.push_back(std::move(series));
  }

  void append_to(std::vector<MetricFamily>& page) {
    if (!family_.metric.empty()) page.push_back(std::move(family_));
  }

 private:
  MetricFamily family_;
  bool is_counter_;
};

Labels labels_of(const ReplicaGauges& replica) { return {{"pool", replica.pool}, {"replica", replica.replica}}; }

Labels labels_of(const ReplicaGauges& replica, std::string_view name, std::string_view value) {
  Labels labels = labels_of(replica);
  labels.push_back({std::string(name), std::string(value)});
  return labels;
}

// One gauge or counter that every replica has once.
template <class Value>
void append(std::vector<MetricFamily>& page, const catalogue::Metric& metric,
            const std::vector<ReplicaGauges>& replicas, Value value) {
  FamilyBuilder family(metric);
  for (const ReplicaGauges& replica : replicas) family.add(labels_of(replica), value(replica));
  family.append_to(page);
}

void append_split(std::vector<MetricFamily>& page, const std::vector<ReplicaGauges>& replicas) {
  FamilyBuilder turns(catalogue::turns), prompt(catalogue::replica_prompt_tokens), kv(catalogue::engine_kv_usage),
      capacity(catalogue::seat_capacity);
  for (const ReplicaGauges& replica : replicas) {
    const std::pair<std::string_view, double> by_route[] = {
        {"placed", replica.placed}, {"sticky", replica.sticky}, {"spilled", replica.spilled},
        {"moved", replica.moved},   {"off", replica.off},       {"unsteered", replica.unsteered}};
    for (const auto& [route, count] : by_route) turns.add(labels_of(replica, "route", route), count);
    prompt.add(labels_of(replica, "kind", catalogue::replica_prompt_kinds[0]), replica.prompt_cached);
    prompt.add(labels_of(replica, "kind", catalogue::replica_prompt_kinds[1]), replica.prompt_computed);
    if (replica.kv_usage) kv.add(labels_of(replica), *replica.kv_usage);
    if (replica.seat_capacity) capacity.add(labels_of(replica), *replica.seat_capacity);
  }
  turns.append_to(page);
  prompt.append_to(page);
  kv.append_to(page);
  capacity.append_to(page);
}

void append_process(std::vector<MetricFamily>& page, const ProcessGauges& process) {
  const std::pair<const catalogue::Metric*, double> values[] = {
      {&catalogue::requests_in_flight, process.requests_in_flight},
      {&catalogue::sessions, process.sessions},
      {&catalogue::connections, process.connections},
      {&catalogue::log_lines_dropped, process.log_dropped},
      {&catalogue::bugs, process.bugs}};
  for (const auto& [metric, value] : values) {
    FamilyBuilder family(*metric);
    family.add({}, value);
    family.append_to(page);
  }
}

}  // namespace

std::string exposition(std::vector<MetricFamily> counted, const std::vector<ReplicaGauges>& replicas,
                       const std::vector<PoolGauges>& pools, const ProcessGauges& process) {
  std::vector<MetricFamily> page = std::move(counted);
  append(page, catalogue::in_flight, replicas, [](const ReplicaGauges& r) { return r.in_flight; });
  append(page, catalogue::replica_up, replicas, [](const ReplicaGauges& r) { return r.up ? 1.0 : 0.0; });
  append(page, catalogue::replica_output_tokens, replicas, [](const ReplicaGauges& r) { return r.output_tokens; });
  append(page, catalogue::active_sessions, replicas, [](const ReplicaGauges& r) { return r.active_sessions; });
  append(page, catalogue::seats, replicas, [](const ReplicaGauges& r) { return r.seats; });
  append(page, catalogue::cache_lost, replicas, [](const ReplicaGauges& r) { return r.cache_lost; });
  append(page, catalogue::cache_steps_down, replicas, [](const ReplicaGauges& r) { return r.cache_steps_down; });
  FamilyBuilder waiting(catalogue::waiting);
  for (const PoolGauges& pool : pools) waiting.add({{"pool", pool.pool}}, pool.waiting);
  waiting.append_to(page);
  append(page, catalogue::engine_running, replicas, [](const ReplicaGauges& r) { return r.running; });
  append(page, catalogue::engine_waiting, replicas, [](const ReplicaGauges& r) { return r.waiting; });
  append_split(page, replicas);
  append_process(page, process);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, page);
  return std::move(out).str();
}

}  // namespace wg::record
