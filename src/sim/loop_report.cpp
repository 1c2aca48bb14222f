#include "sim/loop_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace wg::sim {

namespace {

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

// Of one column over the seeds.
auto spread(const LoopRows& rows, const Column& column) {
  return std::minmax_element(rows.seeds.begin(), rows.seeds.end(),
                             [&](const LoopRow& a, const LoopRow& b) { return a.*column.value < b.*column.value; });
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
    const auto line = [&](std::string text, const std::string& sessions, auto&& value_of) {
      text.append(text.size() < policy_width ? policy_width - text.size() : 1, ' ');
      pad(text, sessions, std::string_view("sessions").size());
      for (const Column& column : columns)
        if (column.head)
          pad(text, number(value_of(column) * column.times, column.decimals),
              gap + std::string_view(column.head).size());
      out += text + '\n';
    };
    line(one.policy, std::to_string(one.sessions), [&](const Column& column) { return mean.*column.value; });
    if (one.seeds.size() < 2) continue;
    line("  least", "", [&](const Column& column) { return (*spread(one, column).first).*column.value; });
    line("  most", "", [&](const Column& column) { return (*spread(one, column).second).*column.value; });
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
      const auto [least, most] = spread(one, column);
      out += member(name + "_min", (*least).*column.value) + member(name + "_max", (*most).*column.value);
    }
    out += '}';
  }
  return out + "]}\n";
}

}  // namespace wg::sim
