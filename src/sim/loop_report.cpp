#include "sim/loop_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace wg::sim {

namespace {

// What a row holds, once for the means, the JSON and the table.
struct Column {
  const char* name;  // in JSON
  double LoopRow::* value;
  const char* head;  // in the table; nullptr: not shown there
  double times = 1;
  int decimals = 2;
};
constexpr std::array<Column, 14> columns{{
    {"sessions_per_hour", &LoopRow::sessions_per_hour, "sessions/h", 1, 0},
    {"output_tokens_per_min", &LoopRow::output_tokens_per_min, "output tok/min", 1, 0},
    {"ttfb_p50_s", &LoopRow::ttfb_p50_s, "TTFB p50 s"},
    {"ttfb_p95_s", &LoopRow::ttfb_p95_s, "TTFB p95 s"},
    {"ttfb_mean_s", &LoopRow::ttfb_mean_s, "mean s"},
    {"replicas_busy", &LoopRow::replicas_busy, "replicas busy"},
    {"prefix_hit_share", &LoopRow::prefix_hit_share, "prefix hits %", 100, 1},
    {"stayed_share", &LoopRow::stayed_share, "stayed %", 100, 1},
    {"session_time_p50_s", &LoopRow::session_time_p50_s, "session p50 s", 1, 0},
    {"session_time_p95_s", &LoopRow::session_time_p95_s, "session p95 s", 1, 0},
    {"wait_p95_s", &LoopRow::wait_p95_s, nullptr},
    {"preemptions", &LoopRow::preemptions, "preemptions", 1, 0},
    {"failures", &LoopRow::failures, "failures", 1, 0},
    {"turns", &LoopRow::turns, "turns", 1, 0},
}};

std::string number(double value, int decimals) {
  if (!std::isfinite(value)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// Six decimals at most, and no more than needed: 0.5, 3, 12.25.
std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::string text = number(value, 6);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string member(const std::string& name, double value) { return ",\"" + name + "\":" + json_number(value); }

void pad(std::string& line, const std::string& cell, std::size_t width) {
  line.append(width > cell.size() ? width - cell.size() : 0, ' ').append(cell);
}

}  // namespace

LoopRow mean_of(const std::vector<LoopRow>& rows) {
  LoopRow mean;
  for (const Column& column : columns) {
    for (const LoopRow& row : rows) mean.*column.value += row.*column.value / static_cast<double>(rows.size());
  }
  return mean;
}

std::string table_of(const std::vector<LoopRows>& all) {
  constexpr std::size_t policy_width = 12, gap = 2;
  std::string out = "policy      sessions";
  for (const Column& column : columns)
    if (column.head) out.append(gap, ' ').append(column.head);
  out += '\n';
  for (const LoopRows& one : all) {
    const LoopRow mean = mean_of(one.seeds);
    std::string line = one.policy;
    line.append(line.size() < policy_width ? policy_width - line.size() : 1, ' ');
    pad(line, std::to_string(one.sessions), std::string_view("sessions").size());
    for (const Column& column : columns)
      if (column.head)
        pad(line, number(mean.*column.value * column.times, column.decimals),
            gap + std::string_view(column.head).size());
    out += line + '\n';
  }
  return out;
}

std::string json_of(const std::vector<LoopRows>& all) {
  std::string out = "{\"rows\":[";
  for (const LoopRows& one : all) {
    if (&one != &all.front()) out += ",\n ";
    const LoopRow mean = mean_of(one.seeds);
    out += "{\"target\":\"" + one.target + "\",\"policy\":\"" + one.policy + "\"";
    out += member("sessions", one.sessions);
    for (const Column& column : columns) {
      const std::string name(column.name);
      out += member(name, mean.*column.value);
      if (one.seeds.size() < 2) continue;
      const auto [least, most] =
          std::minmax_element(one.seeds.begin(), one.seeds.end(),
                              [&](const LoopRow& a, const LoopRow& b) { return a.*column.value < b.*column.value; });
      out += member(name + "_min", (*least).*column.value) + member(name + "_max", (*most).*column.value);
    }
    out += '}';
  }
  return out + "]}\n";
}

}  // namespace wg::sim
