// Every warmgate_* metric: name, type, labels and meaning stand here once; the exposition and docs/metrics.md come from
// it. And the fixed values that labels can have: anything else counts as "other". Constant; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace wg::record::catalogue {

enum class Type : std::uint8_t { counter, gauge, histogram };

struct Metric {
  std::string_view name;
  Type type = Type::counter;
  std::string_view labels;  // "pool, api"
  std::string_view help;
  std::span<const double> buckets = {};  // seconds
};

// "none": the field was empty. The last one stands for all that is not in the list.
inline constexpr std::array<std::string_view, 7> apis{"chat",      "completions", "messages", "count_tokens",
                                                      "responses", "none",        "other"};
inline constexpr std::array<std::string_view, 9> routes{"placed",    "sticky",  "spilled", "moved", "off",
                                                        "unsteered", "waiting", "none",    "other"};
inline constexpr std::array<std::string_view, 8> outcomes{
    "ok", "client_gone", "died_mid_stream", "engine_aborted", "failed", "refused", "none", "other"};
inline constexpr std::array<std::string_view, 8> retry_reasons{
    "refused", "reset", "stale_connection", "busy", "engine_dead", "timed_out", "none", "other"};
inline constexpr std::array<std::string_view, 6> status_classes{"1xx", "2xx", "3xx", "4xx", "5xx", "none"};
inline constexpr std::array<std::string_view, 3> prompt_kinds{"cached", "computed", "unmeasured"};
inline constexpr std::array<std::string_view, 2> replica_prompt_kinds{"cached", "computed"};

extern const Metric requests, responses, ttft, request_time, prompt_tokens, output_tokens, retries, refused_connections;
extern const Metric in_flight, replica_up, turns, replica_prompt_tokens, replica_output_tokens, active_sessions,
    waiting, wait_time, seats, seat_capacity, cache_steps_down, cache_lost, engine_running, engine_waiting,
    engine_kv_usage;
extern const Metric requests_in_flight, sessions, connections, log_lines_dropped, bugs;

std::span<const Metric* const> all();

// docs/metrics.md.
std::string reference();

}  // namespace wg::record::catalogue
