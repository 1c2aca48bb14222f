#include "record/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "record/catalogue.h"

namespace wg::record {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

FinishedRequest finished(std::string_view pool = "qwen") {
  FinishedRequest request;
  request.pool = pool;
  request.api = "messages";
  request.route = "sticky";
  request.outcome = "ok";
  request.status = 200;
  request.prompt = {1'000};
  request.cached = {900};
  request.output = {17};
  request.measured = true;
  request.ttft = 300ms;
  request.waited = 90s;
  request.total = 2s;
  return request;
}

ReplicaGauges replica() {
  ReplicaGauges gauges;
  gauges.pool = "qwen";
  gauges.replica = "qwen/box1/0";
  gauges.up = true;
  gauges.in_flight = 2.5;
  gauges.active_sessions = 4;
  gauges.seats = 3;
  gauges.seat_capacity = 28'900;
  gauges.cache_steps_down = 2;
  gauges.cache_lost = 3;
  gauges.running = 2;
  gauges.waiting = 1;
  gauges.kv_usage = 0.25;
  gauges.placed = 5;
  gauges.sticky = 20;
  gauges.prompt_cached = 900;
  gauges.prompt_computed = 100;
  gauges.output_tokens = 17;
  return gauges;
}

// Value of the series with these labels, in whatever order; -1: there is none.
double value_of(const std::string& page, const std::string& name, std::set<std::string> labels) {
  std::istringstream in(page);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name) || (line[name.size()] != '{' && line[name.size()] != ' ')) continue;
    std::set<std::string> found;
    const std::size_t end = line.rfind(' ');
    if (line[name.size()] == '{') {
      std::istringstream inside(line.substr(name.size() + 1, line.rfind('}') - name.size() - 1));
      for (std::string label; std::getline(inside, label, ',');) found.insert(label);
    }
    if (found == labels) return std::stod(line.substr(end + 1));
  }
  return -1;
}

TEST(Metrics, CountsRequests) {
  Metrics metrics;
  metrics.add_pool("qwen");
  metrics.count(finished());
  metrics.count(finished());
  FinishedRequest unmeasured = finished();
  unmeasured.measured = false;
  unmeasured.status = 503;
  unmeasured.outcome = "failed";
  unmeasured.ttft.reset();
  metrics.count(unmeasured);
  metrics.count_retry("qwen", "busy");
  metrics.count_refused_connection();
  const std::string page = metrics.text({}, {}, {});
  const std::string pool = "pool=\"qwen\"";
  EXPECT_EQ(value_of(page, "warmgate_requests_total", {pool, "api=\"messages\"", "route=\"sticky\"", "outcome=\"ok\""}),
            2);
  EXPECT_EQ(
      value_of(page, "warmgate_requests_total", {pool, "api=\"messages\"", "route=\"sticky\"", "outcome=\"failed\""}),
      1);
  EXPECT_EQ(value_of(page, "warmgate_responses_total", {pool, "status_class=\"2xx\""}), 2);
  EXPECT_EQ(value_of(page, "warmgate_responses_total", {pool, "status_class=\"5xx\""}), 1);
  EXPECT_EQ(value_of(page, "warmgate_responses_total", {pool, "status_class=\"4xx\""}), 0);
  EXPECT_EQ(value_of(page, "warmgate_prompt_tokens_total", {pool, "kind=\"cached\""}), 1'800);
  EXPECT_EQ(value_of(page, "warmgate_prompt_tokens_total", {pool, "kind=\"computed\""}), 200);
  EXPECT_EQ(value_of(page, "warmgate_prompt_tokens_total", {pool, "kind=\"unmeasured\""}), 1'000);
  EXPECT_EQ(value_of(page, "warmgate_output_tokens_total", {pool}), 51);
  EXPECT_EQ(value_of(page, "warmgate_ttft_seconds_count", {pool}), 2);
  EXPECT_EQ(value_of(page, "warmgate_ttft_seconds_bucket", {pool, "le=\"0.25\""}), 0);
  EXPECT_EQ(value_of(page, "warmgate_ttft_seconds_bucket", {pool, "le=\"0.5\""}), 2);
  EXPECT_EQ(value_of(page, "warmgate_request_seconds_count", {pool}), 3);
  EXPECT_EQ(value_of(page, "warmgate_request_seconds_sum", {pool}), 6);
  EXPECT_EQ(value_of(page, "warmgate_retries_total", {pool, "reason=\"busy\""}), 1);
  EXPECT_EQ(value_of(page, "warmgate_connections_refused_total", {}), 1);
}

TEST(Metrics, ReadsGaugesAtScrape) {
  Metrics metrics;
  const std::string page = metrics.text({replica()}, {{"qwen", 6}}, {3, 10, 7, 2, 1});
  const std::string pool = "pool=\"qwen\"", id = "replica=\"qwen/box1/0\"";
  EXPECT_EQ(value_of(page, "warmgate_in_flight", {pool, id}), 2.5);
  EXPECT_EQ(value_of(page, "warmgate_replica_up", {pool, id}), 1);
  EXPECT_EQ(value_of(page, "warmgate_turns_total", {pool, id, "route=\"sticky\""}), 20);
  EXPECT_EQ(value_of(page, "warmgate_turns_total", {pool, id, "route=\"off\""}), 0);
  EXPECT_EQ(value_of(page, "warmgate_replica_prompt_tokens_total", {pool, id, "kind=\"cached\""}), 900);
  EXPECT_EQ(value_of(page, "warmgate_replica_output_tokens_total", {pool, id}), 17);
  EXPECT_EQ(value_of(page, "warmgate_active_sessions", {pool, id}), 4);
  EXPECT_EQ(value_of(page, "warmgate_engine_running", {pool, id}), 2);
  EXPECT_EQ(value_of(page, "warmgate_engine_waiting", {pool, id}), 1);
  EXPECT_EQ(value_of(page, "warmgate_seats", {pool, id}), 3);
  EXPECT_EQ(value_of(page, "warmgate_seat_capacity_tokens", {pool, id}), 28'900);
  EXPECT_EQ(value_of(page, "warmgate_cache_steps_down_total", {pool, id}), 2);
  EXPECT_EQ(value_of(page, "warmgate_cache_lost_total", {pool, id}), 3);
  EXPECT_EQ(value_of(page, "warmgate_waiting", {pool}), 6);
  EXPECT_EQ(value_of(page, "warmgate_engine_kv_usage_ratio", {pool, id}), 0.25);
  EXPECT_EQ(value_of(page, "warmgate_requests_in_flight", {}), 3);
  EXPECT_EQ(value_of(page, "warmgate_sessions", {}), 10);
  EXPECT_EQ(value_of(page, "warmgate_connections", {}), 7);
  EXPECT_EQ(value_of(page, "warmgate_log_lines_dropped_total", {}), 2);
  EXPECT_EQ(value_of(page, "warmgate_bugs_total", {}), 1);
  EXPECT_THAT(page, HasSubstr("# TYPE warmgate_turns_total counter"));
  EXPECT_THAT(page, HasSubstr("# TYPE warmgate_in_flight gauge"));

  const std::string later = metrics.text({}, {}, {});
  EXPECT_THAT(later, Not(HasSubstr("qwen/box1/0"))) << "a replica that is gone leaves nothing behind";
}

TEST(Metrics, NoKvGaugeNoSeries) {
  ReplicaGauges without = replica();
  without.kv_usage.reset();
  EXPECT_THAT(Metrics().text({without}, {}, {}), Not(HasSubstr("kv_usage")));
}

TEST(Metrics, LabelsNeverCarryWhatClientsWrote) {
  Metrics metrics;
  metrics.add_pool("qwen");
  FinishedRequest hostile = finished("evil\"} 1\n");
  hostile.api = hostile.route = hostile.outcome = "evil";
  for (int i = 0; i < 1'000; ++i) metrics.count(hostile);
  metrics.count_retry("evil", "evil");
  FinishedRequest nowhere;
  metrics.count(nowhere);
  const std::string page = metrics.text({}, {}, {});
  EXPECT_THAT(page, Not(HasSubstr("evil")));
  EXPECT_EQ(value_of(page, "warmgate_requests_total",
                     {"pool=\"other\"", "api=\"other\"", "route=\"other\"", "outcome=\"other\""}),
            1'000);
  EXPECT_EQ(value_of(page, "warmgate_requests_total",
                     {"pool=\"none\"", "api=\"none\"", "route=\"none\"", "outcome=\"none\""}),
            1);
  EXPECT_EQ(value_of(page, "warmgate_responses_total", {"pool=\"none\"", "status_class=\"none\""}), 1);
  EXPECT_EQ(value_of(page, "warmgate_retries_total", {"pool=\"other\"", "reason=\"other\""}), 1);
}

TEST(Metrics, OddFigures) {
  Metrics metrics;
  metrics.add_pool("qwen");
  FinishedRequest odd = finished();
  odd.cached = {5'000};  // more than the prompt
  odd.output = {-3};
  odd.status = 999;
  metrics.count(odd);
  odd.prompt = {-1};
  odd.status = -200;
  metrics.count(odd);
  const std::string page = metrics.text({}, {}, {});
  EXPECT_EQ(value_of(page, "warmgate_prompt_tokens_total", {"pool=\"qwen\"", "kind=\"cached\""}), 1'000);
  EXPECT_EQ(value_of(page, "warmgate_prompt_tokens_total", {"pool=\"qwen\"", "kind=\"computed\""}), 0);
  EXPECT_EQ(value_of(page, "warmgate_output_tokens_total", {"pool=\"qwen\""}), 0);
  EXPECT_EQ(value_of(page, "warmgate_responses_total", {"pool=\"qwen\"", "status_class=\"none\""}), 2);
}

TEST(Metrics, PoolsOfAnyNumber) {
  Metrics metrics;
  for (int i = 0; i < 300; ++i) metrics.add_pool("p" + std::to_string(i));
  metrics.add_pool("p0");
  metrics.count(finished("p255"));
  metrics.count(finished("p299"));
  const std::string page = metrics.text({}, {}, {});
  EXPECT_EQ(value_of(page, "warmgate_output_tokens_total", {"pool=\"p255\""}), 17);
  EXPECT_EQ(value_of(page, "warmgate_output_tokens_total", {"pool=\"other\""}), 17);
}

TEST(Metrics, ManyThreads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&metrics, t] {
      for (int i = 0; i < 2'000; ++i) {
        if (i % 100 == 0) metrics.add_pool("pool" + std::to_string((i + t) % 8));
        metrics.count(finished("pool" + std::to_string(i % 8)));
        if (i % 500 == 0) metrics.text({replica()}, {{"qwen", 6}}, {});
      }
    });
  for (std::thread& thread : threads) thread.join();
  const std::string page = metrics.text({}, {}, {});
  double total = std::max(0.0, value_of(page, "warmgate_output_tokens_total", {"pool=\"other\""}));
  for (int i = 0; i < 8; ++i)
    total += value_of(page, "warmgate_output_tokens_total", {"pool=\"pool" + std::to_string(i) + "\""});
  EXPECT_EQ(total, 4 * 2'000 * 17);
}

// ---- the catalogue ------------------------------------------------------------------------------------------------

// Name and label names of every series on a page that shows everything.
std::set<std::pair<std::string, std::set<std::string>>> shapes(const std::string& page) {
  std::set<std::pair<std::string, std::set<std::string>>> found;
  std::istringstream in(page);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::string name = line.substr(0, line.find_first_of("{ "));
    for (const std::string suffix : {"_bucket", "_sum", "_count"})
      if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    std::set<std::string> labels;
    if (line.find('{') != std::string::npos) {
      std::istringstream inside(line.substr(line.find('{') + 1, line.rfind('}') - line.find('{') - 1));
      for (std::string label; std::getline(inside, label, ',');)
        if (!label.starts_with("le=")) labels.insert(label.substr(0, label.find('=')));
    }
    found.emplace(name, labels);
  }
  return found;
}

TEST(Catalogue, IsExactlyWhatIsExposed) {
  Metrics metrics;
  metrics.add_pool("qwen");
  metrics.count(finished());
  metrics.count_retry("qwen", "busy");
  std::set<std::pair<std::string, std::set<std::string>>> expected;
  for (const catalogue::Metric* metric : catalogue::all()) {
    std::set<std::string> labels;
    std::istringstream in{std::string(metric->labels)};
    for (std::string label; std::getline(in >> std::ws, label, ',');) labels.insert(label);
    EXPECT_TRUE(expected.emplace(std::string(metric->name), labels).second) << metric->name;
    EXPECT_EQ(metric->name.ends_with("_total"), metric->type == catalogue::Type::counter) << metric->name;
    EXPECT_TRUE(std::is_sorted(metric->buckets.begin(), metric->buckets.end())) << metric->name;
  }
  EXPECT_EQ(shapes(metrics.text({replica()}, {{"qwen", 6}}, {})), expected);
}

TEST(Catalogue, DocumentIsCurrent) {
  const std::string path = WG_TEST_DATA "/../../docs/metrics.md";
  if (std::getenv("WG_WRITE_DOCS")) std::ofstream(path) << catalogue::reference();
  std::ifstream in(path);
  const std::string written{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(written == catalogue::reference())
      << "docs/metrics.md is behind src/record/catalogue.cpp: run WG_WRITE_DOCS=1 build/record_test";
}

}  // namespace
}  // namespace wg::record
