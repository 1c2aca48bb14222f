#include "bench/figures.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

namespace wg::bench {
namespace {

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> share(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace

std::optional<double> quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nullopt;
  const auto at = std::min(static_cast<std::size_t>(static_cast<double>(values.size()) * share), values.size() - 1);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

Row figures(const Measured& measured, double time_scale) {
  Row row;
  row.turns = measured.turns.size();
  row.failures = measured.failures;
  row.preemptions = measured.preemptions;
  std::vector<double> ttfb, waits, session_times;
  std::int64_t prompt = 0, cached = 0, output = 0, later = 0, stayed = 0;
  bool cached_told = false;  // vLLM leaves the figure out where it is zero: one turn that has it speaks for all
  for (const Turn& turn : measured.turns) {
    ttfb.push_back(to_seconds(turn.first_content - turn.began) * time_scale);
    waits.push_back(to_seconds(turn.waited) * time_scale);
    output += turn.output.count;
    if (turn.measured) prompt += turn.prompt.count, cached += turn.cached.count;
    cached_told = cached_told || turn.cached_measured;
    if (turn.stayed) ++later, stayed += *turn.stayed ? 1 : 0;
  }
  for (const EndedSession& session : measured.sessions)
    session_times.push_back(to_seconds(session.ended - session.began) * time_scale);
  const double seconds = to_seconds(measured.ended - measured.began) * time_scale;
  if (seconds > 0) {
    row.sessions_per_hour = static_cast<double>(measured.sessions.size()) * 3600 / seconds;
    row.output_tokens_per_min = static_cast<double>(output) * 60 / seconds;
  }
  row.ttfb_mean_s = mean(ttfb);
  row.ttfb_p50_s = quantile(ttfb, 0.50);
  row.ttfb_p95_s = quantile(std::move(ttfb), 0.95);
  row.replicas_busy = mean({measured.busy.begin(), measured.busy.end()});
  if (cached_told) row.prefix_hit_share = share(cached, prompt);
  row.stayed_share = share(stayed, later);
  row.session_time_p50_s = quantile(session_times, 0.50);
  row.session_time_p95_s = quantile(std::move(session_times), 0.95);
  row.wait_p95_s = quantile(std::move(waits), 0.95);
  return row;
}

sim::LoopRow loop_row(const Row& row) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  sim::LoopRow out;
  out.sessions_per_hour = row.sessions_per_hour;
  out.output_tokens_per_min = row.output_tokens_per_min;
  out.ttfb_p50_s = row.ttfb_p50_s.value_or(unknown);
  out.ttfb_p95_s = row.ttfb_p95_s.value_or(unknown);
  out.ttfb_mean_s = row.ttfb_mean_s.value_or(unknown);
  out.replicas_busy = row.replicas_busy.value_or(unknown);
  out.prefix_hit_share = row.prefix_hit_share.value_or(unknown);
  out.stayed_share = row.stayed_share.value_or(unknown);
  out.session_time_p50_s = row.session_time_p50_s.value_or(unknown);
  out.session_time_p95_s = row.session_time_p95_s.value_or(unknown);
  out.wait_p95_s = row.wait_p95_s.value_or(unknown);
  out.preemptions = row.preemptions ? static_cast<double>(*row.preemptions) : unknown;
  out.failures = static_cast<double>(row.failures);
  out.turns = static_cast<double>(row.turns + row.failures);
  return out;
}

std::string json_of(const Row& row) {
  const nlohmann::ordered_json json = {{"target", row.target},
                                       {"policy", row.policy},
                                       {"sessions", row.sessions},
                                       {"sessions_per_hour", row.sessions_per_hour},
                                       {"output_tokens_per_min", row.output_tokens_per_min},
                                       {"ttfb_p50_s", or_null(row.ttfb_p50_s)},
                                       {"ttfb_p95_s", or_null(row.ttfb_p95_s)},
                                       {"ttfb_mean_s", or_null(row.ttfb_mean_s)},
                                       {"replicas_busy", or_null(row.replicas_busy)},
                                       {"prefix_hit_share", or_null(row.prefix_hit_share)},
                                       {"stayed_share", or_null(row.stayed_share)},
                                       {"session_time_p50_s", or_null(row.session_time_p50_s)},
                                       {"session_time_p95_s", or_null(row.session_time_p95_s)},
                                       {"wait_p95_s", or_null(row.wait_p95_s)},
                                       {"preemptions", or_null(row.preemptions)},
                                       {"failures", row.failures},
                                       {"turns", row.turns}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace wg::bench
