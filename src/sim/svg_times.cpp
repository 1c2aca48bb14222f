#include <algorithm>
#include <cmath>

#include "sim/svg.h"
#include "sim/svg_text.h"

namespace wg::sim {

namespace {

constexpr double width = 470, left = 54, right = 14, top = 8;

double x_of(double at_s, double from_s, double to_s) {
  const double span = to_s > from_s ? to_s - from_s : 1;
  return left + std::clamp((at_s - from_s) / span, 0.0, 1.0) * (width - left - right);
}

std::string time_axis(double from_s, double to_s, double y) {
  std::string out = line(left, y, width - right, y, "axis");
  const double tick = tick_of_time(to_s - from_s, 6);
  for (double at = std::ceil(from_s / tick) * tick; at <= to_s + 1e-9; at += tick)
    out += line(x_of(at, from_s, to_s), y, x_of(at, from_s, to_s), y + 4, "axis") +
           label(x_of(at, from_s, to_s), y + 17, "middle", clock_text(at));
  return out;
}

// From `floor` up to `values`, both heights on the picture.
std::string area(const std::vector<double>& xs, const std::vector<double>& floor, const std::vector<double>& values,
                 const char* kind) {
  if (xs.empty()) return {};
  std::string path = "<path class=\"" + std::string(kind) + "\" d=\"M";
  for (std::size_t i = 0; i < xs.size(); ++i) path += (i ? "L" : "") + point(xs[i], values[i]);
  for (std::size_t i = xs.size(); i-- > 0;) path += "L" + point(xs[i], floor[i]);
  return path + "Z\"/>";
}

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(seconds));
  char text[40];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  return text;
}

double tick_of_time(double span_s, int most) {
  for (const double tick :
       {1., 2., 5., 10., 15., 30., 60., 120., 300., 600., 900., 1800., 3600., 7200., 14400., 43200.})
    if (span_s / tick <= most) return tick;
  return 86'400;
}

std::string svg_of(const AreaChart& chart) {
  constexpr double height = 176, bottom = 26;
  const double high = chart.high > 0 ? chart.high : 1;
  const auto y = [&](double value) {
    return height - bottom - std::clamp(value / high, 0.0, 1.0) * (height - top - bottom);
  };
  std::string out = open_svg(width, height, escaped(chart.title));
  for (int i = 0; i <= 2; ++i) {
    const double tick = high * i / 2;
    out += line(left, y(tick), width - right, y(tick), "grid") +
           label(left - 7, y(tick) + 4, "end", tick >= 10'000 ? shown(tick / 1'000, 0) + "k" : shown(tick, 0));
  }
  std::vector<double> xs, bottom_line, lower, upper;
  for (std::size_t i = 0; i < chart.at_s.size(); ++i) {
    xs.push_back(x_of(chart.at_s[i], chart.from_s, chart.to_s));
    bottom_line.push_back(y(0));
    lower.push_back(y(chart.lower[i]));
    upper.push_back(y(chart.lower[i] + chart.upper[i]));
  }
  out += area(xs, bottom_line, lower, "cached") + area(xs, lower, upper, "computed");
  return out + time_axis(chart.from_s, chart.to_s, height - bottom) + "</svg>";
}

std::string svg_of(const StripChart& chart) {
  constexpr double strip = 26, gap = 6, bottom = 26;
  const double height = top + static_cast<double>(chart.names.size()) * (strip + gap) + bottom;
  std::vector<double> xs;
  for (const double at : chart.at_s) xs.push_back(x_of(at, chart.from_s, chart.to_s));
  std::string out = open_svg(width, height, escaped(chart.title));
  for (std::size_t row = 0; row < chart.names.size() && row < chart.rows.size(); ++row) {
    const double floor_y = top + static_cast<double>(row) * (strip + gap) + strip;
    std::vector<double> floor, values;
    for (const double value : chart.rows[row]) {
      floor.push_back(floor_y);
      values.push_back(floor_y - std::clamp(value, 0.0, 1.0) * strip);
    }
    out += "<rect class=\"full\" x=\"" + px(left) + "\" y=\"" + px(floor_y - strip) + "\" width=\"" +
           px(width - left - right) + "\" height=\"" + px(strip) + "\"/>";
    out += area(xs, floor, values, "kv") + line(left, floor_y, width - right, floor_y, "axis");
    out += label(left - 7, floor_y - strip / 2 + 4, "end", escaped(chart.names[row]));
  }
  return out + time_axis(chart.from_s, chart.to_s, height - bottom) + "</svg>";
}

}  // namespace wg::sim
