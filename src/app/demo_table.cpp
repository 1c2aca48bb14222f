#include "app/demo_table.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace wg::app {
namespace {

template <class... Values>
std::string text(const char* format, Values... values) {
  char line[512];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

// An empty value is shown as a dash.
std::string number(const std::optional<double>& value, const char* format, double factor = 1) {
  return value ? text(format, *value * factor) : "-";
}

std::string gain(const std::optional<double>& numerator, const std::optional<double>& denominator, const char* word) {
  if (!numerator || !denominator || *denominator <= 0) return "";
  return text("%.1fx %s", *numerator / *denominator, word);
}

std::string points(const std::optional<double>& first, const std::optional<double>& second) {
  return first && second ? text("%+.0f points", (*first - *second) * 100) : "";
}

using Count = unsigned long long;

}  // namespace

std::vector<std::string> table_lines(const std::vector<DemoReplica>& replicas, const DemoProgress& progress) {
  std::vector<std::string> lines;
  std::size_t width = 8;
  for (const DemoReplica& r : replicas) width = std::max(width, r.name.size());
  const int name = static_cast<int>(width);
  lines.push_back(text("%-*s %8s %6s %6s %7s %9s %10s %12s %5s %5s", name, "replica", "requests", "placed", "sticky",
                       "spilled", "in flight", "cached tok", "computed tok", "hits", "KV"));
  for (const DemoReplica& r : replicas) {
    const double prompt = r.cached + r.computed;
    const std::string hits = prompt > 0 ? text("%.0f%%", r.cached / prompt * 100) : "-";
    lines.push_back(text("%-*s %8llu %6llu %6llu %7llu %9.0f %10.0f %12.0f %5s %4.0f%%%s", name, r.name.c_str(),
                         Count{r.requests}, Count{r.placed}, Count{r.sticky}, Count{r.spilled}, r.in_flight, r.cached,
                         r.computed, hits.c_str(), r.kv_usage * 100, r.up ? "" : "  down"));
  }
  const bench::Row& row = progress.so_far;
  lines.push_back(text("%-7s %5.1f of %.0f s   %u sessions   %llu turns   hits %s %%   TTFT p50 %s s   %.0f tok/min",
                       progress.policy.c_str(), progress.elapsed_s, progress.length_s, progress.sessions,
                       Count{row.turns}, number(row.prefix_hit_share, "%.0f", 100).c_str(),
                       number(row.ttfb_p50_s, "%.2f").c_str(), row.output_tokens_per_min));
  if (row.failures > 0)
    lines.push_back(text("%llu failed, the last: %.100s", Count{row.failures}, progress.last_failure.c_str()));
  return lines;
}

std::vector<std::string> comparison_lines(const bench::Row& first, const bench::Row& second, double speed) {
  std::vector<std::string> lines{""};
  const auto line = [&lines](const char* name, const std::string& one, const std::string& other,
                             const std::string& difference) {
    std::string made = text("%-22s %12s %12s   %s", name, one.c_str(), other.c_str(), difference.c_str());
    made.erase(made.find_last_not_of(' ') + 1);
    lines.push_back(std::move(made));
  };
  const auto seconds = [&line](const char* name, const std::optional<double>& one, const std::optional<double>& other) {
    line(name, number(one, "%.2f s"), number(other, "%.2f s"), gain(other, one, "faster"));
  };
  const auto share = [&line](const char* name, const std::optional<double>& one, const std::optional<double>& other) {
    line(name, number(one, "%.1f %%", 100), number(other, "%.1f %%", 100), points(one, other));
  };
  const auto rate = [&line](const char* name, double one, double other) {
    line(name, text("%.0f", one), text("%.0f", other), gain(one, other, "as many"));
  };
  line("", first.policy, second.policy, "");
  share("prefix hits", first.prefix_hit_share, second.prefix_hit_share);
  seconds("TTFT p50", first.ttfb_p50_s, second.ttfb_p50_s);
  seconds("TTFT p95", first.ttfb_p95_s, second.ttfb_p95_s);
  rate("output tokens/min", first.output_tokens_per_min, second.output_tokens_per_min);
  rate("sessions/hour", first.sessions_per_hour, second.sessions_per_hour);
  share("stayed", first.stayed_share, second.stayed_share);
  line("turns", std::to_string(first.turns), std::to_string(second.turns), "");
  line("failures", std::to_string(first.failures), std::to_string(second.failures), "");
  lines.push_back("");
  lines.push_back(text("Times and rates are those of the modelled GPUs, whose clock ran %g times faster.", speed));
  return lines;
}

void LiveTable::show(const std::vector<std::string>& lines) {
  std::string out;
  // Lines are cut at the edge of a narrow terminal: wrapped ones would be miscounted when they are drawn over.
  if (in_place_) out += "\r\x1b[?7l";
  if (in_place_ && lines_ > 0) out += "\x1b[" + std::to_string(lines_) + "A";
  for (const std::string& line : lines) out += (in_place_ ? "\x1b[2K" : "") + line + "\n";
  for (std::size_t n = lines.size(); in_place_ && n < lines_; ++n) out += "\x1b[2K\n";
  lines_ = std::max(lines.size(), lines_);
  if (in_place_) out += "\x1b[2K\x1b[?7h";
  std::cout << out << std::flush;
}

}  // namespace wg::app
