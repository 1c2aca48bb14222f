// Charts as SVG text for a page that nobody can load anything into: lines over steps, areas over time. They read
// without colour: each series has its own marker and dashes and is named at its end, the second area is hatched.
// Colours come from the page's CSS variables, so that they follow light and dark. Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace wg::sim {

// Text as HTML shows it, also within attributes.
std::string escaped(const std::string& text);
// With so many decimals; a dash if it is no number.
std::string shown(double value, int decimals);

// What one series has at each step; nan: nothing. least and most are empty, or as long as `value`.
struct LineSeries {
  std::string name;
  std::size_t look = 0;  // which colour, marker and dashes
  std::vector<double> value, least, most;
};

struct LineChart {
  std::string title, unit;
  int decimals = 2;
  bool logarithmic = false;  // only values above 0 are drawn then
  double low = 0, high = 0;  // the axis; high 0: as the values need
  double tick = 0;           // between lines of a linear axis; 0: a round part of it
  std::vector<std::string> steps;
  std::vector<LineSeries> series;
};
std::string svg_of(const LineChart& chart);

// Two amounts over time, one upon the other.
struct AreaChart {
  std::string title, lower_name, upper_name;
  double from_s = 0, to_s = 1, high = 1;
  std::vector<double> at_s, lower, upper;
};
std::string svg_of(const AreaChart& chart);

// Shares 0..1 over time, one strip for each row.
struct StripChart {
  std::string title;
  double from_s = 0, to_s = 1;
  std::vector<std::string> names;
  std::vector<double> at_s;
  std::vector<std::vector<double>> rows;  // by name, as long as at_s
};
std::string svg_of(const StripChart& chart);

// The key of a series: its marker on its line.
std::string svg_key(std::size_t look);
inline constexpr std::size_t looks = 6;

// Upper ends of a linear axis: at least `value`, and round.
double round_up(double value);

}  // namespace wg::sim
