#include "record/catalogue.h"

namespace wg::record::catalogue {
namespace {

// A cached turn answers in tenths of a second, a full prefill of a long history in tens, a queue in minutes.
constexpr std::array<double, 14> ttft_buckets{0.05, 0.1, 0.25, 0.5, 1, 2, 3.5, 5, 10, 20, 40, 80, 160, 320};
constexpr std::array<double, 13> request_buckets{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640};

}  // namespace

constexpr Type counter = Type::counter, gauge = Type::gauge, histogram = Type::histogram;

const Metric requests{"warmgate_requests_total", counter, "pool, api, route, outcome",
                      "Requests that have ended, once each, whatever became of them."};
const Metric responses{"warmgate_responses_total", counter, "pool, status_class",
                       "Answers by the class of their status; none: the client left before there was one."};
const Metric ttft{"warmgate_ttft_seconds", histogram, "pool",
                  "From a request's arrival to the first content of its answer.", ttft_buckets};
const Metric request_time{"warmgate_request_seconds", histogram, "pool", "From a request's arrival to its end.",
                          request_buckets};
const Metric wait_time{
    "warmgate_wait_seconds", histogram, "pool",
    "From a request's arrival until it was sent to a replica: its wait for a seat, under policy warm.", ttft_buckets};
const Metric prompt_tokens{
    "warmgate_prompt_tokens_total", counter, "pool, kind",
    "Prompt tokens as the engines reported them; unmeasured: the engine did not say how many of them were cached."};
const Metric output_tokens{"warmgate_output_tokens_total", counter, "pool",
                           "Output tokens as the engines reported them."};
const Metric retries{"warmgate_retries_total", counter, "pool, reason",
                     "Attempts that came to nothing and were made again."};
const Metric refused_connections{"warmgate_connections_refused_total", counter, "",
                                 "Client connections over limits.connections."};

const Metric in_flight{"warmgate_in_flight", gauge, "pool, replica", "Requests dispatched to a replica and not ended."};
const Metric replica_up{"warmgate_replica_up", gauge, "pool, replica", "1 while a replica is given requests."};
const Metric turns{"warmgate_turns_total", counter, "pool, replica, route",
                   "Requests dispatched to a replica, by route."};
const Metric replica_prompt_tokens{"warmgate_replica_prompt_tokens_total", counter, "pool, replica, kind",
                                   "Prompt tokens of a replica; what it did not measure counts as computed."};
const Metric replica_output_tokens{"warmgate_replica_output_tokens_total", counter, "pool, replica",
                                   "Output tokens of a replica."};
const Metric active_sessions{"warmgate_active_sessions", gauge, "pool, replica",
                             "Sessions whose home a replica is, active in the last sessions.active_for."};
const Metric waiting{"warmgate_waiting", gauge, "pool", "Requests that wait in the gateway for a seat."};
const Metric seats{"warmgate_seats", gauge, "pool, replica",
                   "Conversations whose cache a replica is to keep, under policy warm: in flight or held."};
const Metric seat_capacity{"warmgate_seat_capacity_tokens", gauge, "pool, replica",
                           "KV tokens that seats may take: what the engine tells or was learnt, after the safety net."};
const Metric cache_steps_down{"warmgate_cache_steps_down_total", counter, "pool, replica",
                              "How often the safety net of policy warm took a replica's cache for less."};
const Metric cache_lost{"warmgate_cache_lost_total", counter, "pool, replica",
                        "How often a replica's cache held less than believed: turns that missed their context, and "
                        "restarts of its engine."};
const Metric engine_running{"warmgate_engine_running", gauge, "pool, replica",
                            "Requests that the engine says it is running."};
const Metric engine_waiting{"warmgate_engine_waiting", gauge, "pool, replica",
                            "Requests that the engine says are waiting in it."};
const Metric engine_kv_usage{
    "warmgate_engine_kv_usage_ratio", gauge, "pool, replica",
    "Share of the KV cache held by requests, 0 to 1; absent where the engine has no such gauge."};

const Metric requests_in_flight{"warmgate_requests_in_flight", gauge, "",
                                "Client requests under way, dispatched or not."};
const Metric sessions{"warmgate_sessions", gauge, "", "Sessions remembered; at most sessions.limit."};
const Metric connections{"warmgate_connections", gauge, "", "Client connections open."};
const Metric log_lines_dropped{"warmgate_log_lines_dropped_total", counter, "",
                               "Log lines lost to a full queue or disk."};
const Metric bugs{"warmgate_bugs_total", counter, "", "Broken assumptions inside warmgate: stays 0."};

std::span<const Metric* const> all() {
  static constexpr const Metric* list[] = {&requests,
                                           &responses,
                                           &ttft,
                                           &request_time,
                                           &wait_time,
                                           &prompt_tokens,
                                           &output_tokens,
                                           &retries,
                                           &refused_connections,
                                           &in_flight,
                                           &replica_up,
                                           &turns,
                                           &replica_prompt_tokens,
                                           &replica_output_tokens,
                                           &active_sessions,
                                           &waiting,
                                           &seats,
                                           &seat_capacity,
                                           &cache_steps_down,
                                           &cache_lost,
                                           &engine_running,
                                           &engine_waiting,
                                           &engine_kv_usage,
                                           &requests_in_flight,
                                           &sessions,
                                           &connections,
                                           &log_lines_dropped,
                                           &bugs};
  return list;
}

namespace {

std::string_view type_name(Type type) { return type == counter ? "counter" : type == gauge ? "gauge" : "histogram"; }

template <std::size_t N>
std::string values(std::string_view label, const std::array<std::string_view, N>& list) {
  std::string line = "- `" + std::string(label) + "`: ";
  for (std::size_t i = 0; i < N; ++i) line += (i == 0 ? "" : ", ") + std::string(list[i]);
  return line + '\n';
}

}  // namespace

std::string reference() {
  std::string text = R"(# Metrics

<!-- Made from the table in src/record/catalogue.cpp: change that, then run `WG_WRITE_DOCS=1 build/record_test`. -->

`GET /metrics` on the admin address, in Prometheus' text format. Label values come from the configuration and from fixed
lists, never from clients: what is not among them counts as `other`, an empty one as `none`.

| name | type | labels | meaning |
|---|---|---|---|
)";
  for (const Metric* metric : all()) {
    text += "| `" + std::string(metric->name) + "` | " + std::string(type_name(metric->type)) + " | " +
            std::string(metric->labels) + " | " + std::string(metric->help) + " |\n";
  }
  text +=
      "\nLabels:\n\n- `pool`: the configured model name, or what its engines say; none: a request that reached no "
      "pool\n"
      "- `replica`: pool/engine/rank\n";
  text += values("api", apis) + values("route", routes) + values("outcome", outcomes) +
          values("reason", retry_reasons) + values("status_class", status_classes) + values("kind", prompt_kinds);
  text += "\nHistogram buckets, in seconds:\n\n";
  for (const Metric* metric : all()) {
    if (metric->buckets.empty()) continue;
    text += "- `" + std::string(metric->name) + "`:";
    for (const double bound : metric->buckets) {
      std::string number = std::to_string(bound);
      number.erase(number.find_last_not_of('0') + 1);
      if (number.ends_with('.')) number.pop_back();
      text += ' ' + number;
    }
    text += '\n';
  }
  return text;
}

}  // namespace wg::record::catalogue
