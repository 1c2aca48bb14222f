// Writing SVG elements; what the charts share. Private to svg_*.cpp.
#pragma once

#include <cstdio>
#include <string>

namespace wg::sim {

inline std::string px(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

inline std::string point(double x, double y) { return px(x) + "," + px(y); }

// anchor: start, middle or end.
inline std::string label(double x, double y, const char* anchor, const std::string& escaped_text,
                         const char* style = "") {
  return "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" text-anchor=\"" + anchor + "\"" + style + ">" + escaped_text +
         "</text>";
}

inline std::string line(double x1, double y1, double x2, double y2, const char* kind) {
  return "<line class=\"" + std::string(kind) + "\" x1=\"" + px(x1) + "\" y1=\"" + px(y1) + "\" x2=\"" + px(x2) +
         "\" y2=\"" + px(y2) + "\"/>";
}

inline std::string open_svg(double width, double height, const std::string& escaped_title) {
  return "<svg viewBox=\"0 0 " + px(width) + " " + px(height) + "\" role=\"img\" aria-label=\"" + escaped_title + "\">";
}

// 90 -> 1:30, 3600 -> 1:00:00.
std::string clock_text(double seconds);
// A round distance between ticks of time, so that about `most` fit.
double tick_of_time(double span_s, int most);

}  // namespace wg::sim
