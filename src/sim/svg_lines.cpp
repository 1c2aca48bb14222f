#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/svg.h"
#include "sim/svg_text.h"

namespace wg::sim {

namespace {

constexpr double width = 470, height = 270, left = 54, right = 92, top = 12, bottom = 40;
constexpr std::array<const char*, looks> dashes{"", "7 3", "2 3", "9 3 2 3", "12 4", "4 2"};

std::string marker(std::size_t look, double x, double y, const std::string& hint) {
  const auto polygon = [&](std::initializer_list<std::pair<double, double>> points) {
    std::string text = "<polygon points=\"";
    for (const auto& [dx, dy] : points) text += point(x + dx, y + dy) + " ";
    text.back() = '"';
    return text;
  };
  std::string shape;
  switch (look % looks) {
    case 0:
      shape = "<circle cx=\"" + px(x) + "\" cy=\"" + px(y) + "\" r=\"4.0\"";
      break;
    case 1:
      shape = polygon({{-4, -4}, {4, -4}, {4, 4}, {-4, 4}});
      break;
    case 2:
      shape = polygon({{0, -5}, {5, 4}, {-5, 4}});
      break;
    case 3:
      shape = polygon({{0, -5.5}, {5.5, 0}, {0, 5.5}, {-5.5, 0}});
      break;
    case 4:
      shape = polygon({{0, 5}, {5, -4}, {-5, -4}});
      break;
    default:
      shape = polygon({{-1.5, -5},
                       {1.5, -5},
                       {1.5, -1.5},
                       {5, -1.5},
                       {5, 1.5},
                       {1.5, 1.5},
                       {1.5, 5},
                       {-1.5, 5},
                       {-1.5, 1.5},
                       {-5, 1.5},
                       {-5, -1.5},
                       {-1.5, -1.5}});
  }
  return shape + " class=\"m" + std::to_string(look % looks) + "\">" +
         (hint.empty() ? "" : "<title>" + hint + "</title>") +
         (shape.starts_with("<circle") ? "</circle>" : "</polygon>");
}

std::string dash_of(std::size_t look) {
  const std::string dash = dashes[look % looks];
  return dash.empty() ? "" : " stroke-dasharray=\"" + dash + "\"";
}

// Places of the values on the axis.
class Axis {
 public:
  explicit Axis(const LineChart& chart) : logarithmic_(chart.logarithmic) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const LineSeries& series : chart.series)
      for (const auto* values : {&series.value, &series.least, &series.most})
        for (const double value : *values)
          if (std::isfinite(value) && (!logarithmic_ || value > 0)) {
            least = std::min(least, value);
            most = std::max(most, value);
          }
    if (logarithmic_) {
      low_ = chart.low > 0 ? chart.low : std::isfinite(least) ? round_down(least) : 0.1;
      high_ = std::max(chart.high > 0 ? chart.high : round_up_log(most), low_ * 10);
      for (double decade = std::pow(10, std::floor(std::log10(low_) + 1e-9)); decade < high_ * 1.001; decade *= 10)
        for (const double part : {1.0, 2.0, 5.0}) add_tick(decade * part);
    } else {
      low_ = chart.low;
      high_ = chart.high > 0 ? chart.high : round_up(std::max(most, 1e-9));
      const double step = chart.tick > 0 ? chart.tick : round_part(high_);
      for (int i = 0; low_ + i * step <= high_ * 1.0001; ++i) add_tick(low_ + i * step);
    }
  }
  bool shows(double value) const { return std::isfinite(value) && (!logarithmic_ || value > 0); }
  double y(double value) const {
    const double share =
        logarithmic_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
    return height - bottom - std::clamp(share, 0.0, 1.0) * (height - top - bottom);
  }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  void add_tick(double value) {
    if (value >= low_ * 0.999 && value < high_ * 1.001) ticks_.push_back(value);
  }
  // 1.5, 3 and 6 go in thirds, 2.5 and 5 in fifths, the rest in quarters.
  static double round_part(double high) {
    const double lead = high / std::pow(10, std::floor(std::log10(high) + 1e-9));
    for (const double third : {1.5, 3.0, 6.0})
      if (std::abs(lead - third) < 1e-6) return high / 3;
    for (const double fifth : {1.25, 2.5, 5.0})
      if (std::abs(lead - fifth) < 1e-6) return high / 5;
    return high / 4;
  }
  static double round_down(double value) {
    const double decade = std::pow(10, std::floor(std::log10(value)));
    for (const double part : {5.0, 2.0})
      if (value >= decade * part) return decade * part;
    return decade;
  }
  static double round_up_log(double value) {
    if (!(value > 0)) return 1;
    const double decade = std::pow(10, std::floor(std::log10(value)));
    for (const double part : {1.0, 2.0, 5.0})
      if (value <= decade * part * 1.0001) return decade * part;
    return decade * 10;
  }

  bool logarithmic_;
  double low_ = 0, high_ = 1;
  std::vector<double> ticks_;
};

std::string tick_text(double value) {
  char text[32];
  if (value >= 10'000)
    std::snprintf(text, sizeof text, "%gk", value / 1'000);
  else
    std::snprintf(text, sizeof text, "%g", value);
  return text;
}

double x_of(const LineChart& chart, std::size_t step) {
  const auto n = static_cast<double>(chart.steps.size());
  return left + (static_cast<double>(step) + 0.5) * (width - left - right) / std::max(n, 1.0);
}

std::string hint_of(const LineChart& chart, const LineSeries& series, std::size_t i) {
  std::string hint = escaped(series.name) + ", " + escaped(chart.steps[i]) +
                     " sessions: " + shown(series.value[i], chart.decimals) + " " + escaped(chart.unit);
  if (!series.least.empty())
    hint += " (" + shown(series.least[i], chart.decimals) + " to " + shown(series.most[i], chart.decimals) + ")";
  return hint;
}

std::string drawn(const LineChart& chart, const Axis& axis, const LineSeries& series) {
  std::string path, spread, marks;
  for (std::size_t i = 0; i < chart.steps.size() && i < series.value.size(); ++i) {
    if (!axis.shows(series.value[i])) continue;
    const double x = x_of(chart, i), y = axis.y(series.value[i]);
    path += (path.empty() ? "" : " ") + point(x, y);
    if (!series.least.empty() && axis.shows(series.least[i]) && axis.shows(series.most[i]))
      spread += line(x, axis.y(series.least[i]), x, axis.y(series.most[i]), "spread");
    marks += marker(series.look, x, y, hint_of(chart, series, i));
  }
  return "<g class=\"s" + std::to_string(series.look % looks) + "\">" + spread + "<polyline points=\"" + path + "\"" +
         dash_of(series.look) + "/>" + marks + "</g>";
}

// Names at the ends of the lines, pushed apart so that none covers another.
std::string names(const LineChart& chart, const Axis& axis) {
  struct Name {
    double x, y, end_y;
    const LineSeries* series;
  };
  std::vector<Name> all;
  for (const LineSeries& series : chart.series)
    for (std::size_t i = std::min(series.value.size(), chart.steps.size()); i-- > 0;)
      if (axis.shows(series.value[i])) {
        all.push_back({x_of(chart, i), axis.y(series.value[i]), axis.y(series.value[i]), &series});
        break;
      }
  std::stable_sort(all.begin(), all.end(), [](const Name& a, const Name& b) { return a.y < b.y; });
  constexpr double apart = 13;
  for (std::size_t i = 1; i < all.size(); ++i) all[i].y = std::max(all[i].y, all[i - 1].y + apart);
  double lowest = height - bottom;
  for (std::size_t i = all.size(); i-- > 0; lowest = all[i].y - apart) all[i].y = std::min(all[i].y, lowest);
  std::string out;
  for (const Name& name : all) {
    const double x = width - right + 8;
    const std::string kind = "leader s" + std::to_string(name.series->look % looks);
    out += line(name.x + 6, name.end_y, x - 3, name.y, kind.c_str());
    std::string text = name.series->name;
    if (text.size() > 14) text = text.substr(0, 13) + "…";
    out += label(x, name.y + 4, "start", escaped(text), " class=\"name\"");
  }
  return out;
}

}  // namespace

std::string svg_of(const LineChart& chart) {
  const Axis axis(chart);
  std::string out = open_svg(width, height, escaped(chart.title));
  for (const double tick : axis.ticks()) {
    out += line(left, axis.y(tick), width - right, axis.y(tick), "grid");
    out += label(left - 7, axis.y(tick) + 4, "end", tick_text(tick));
  }
  out += line(left, height - bottom, width - right, height - bottom, "axis");
  for (std::size_t i = 0; i < chart.steps.size(); ++i)
    out += label(x_of(chart, i), height - bottom + 17, "middle", escaped(chart.steps[i]));
  out += label((left + width - right) / 2, height - 5, "middle", "sessions at a time", " class=\"quiet\"");
  for (const LineSeries& series : chart.series) out += drawn(chart, axis, series);
  return out + names(chart, axis) + "</svg>";
}

std::string svg_key(std::size_t look) {
  return "<svg class=\"key\" viewBox=\"0 0 34 14\"><g class=\"s" + std::to_string(look % looks) +
         "\"><polyline points=\"1,7 33,7\"" + dash_of(look) + "/>" + marker(look, 17, 7, "") + "</g></svg>";
}

double round_up(double value) {
  const double decade = std::pow(10, std::floor(std::log10(value)));
  for (const double part : {1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0})
    if (value <= decade * part * 1.0001) return decade * part;
  return decade * 10;
}

}  // namespace wg::sim
