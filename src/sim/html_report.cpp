#include "sim/html_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/html_times.h"
#include "sim/svg.h"

namespace wg::sim {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// The figures of a page by arm and number of sessions.
class Figures {
 public:
  explicit Figures(const ReportPage& page) : arms_(arms_of(page)) {
    for (const ReportRun& run : page.runs)
      if (std::find(steps_.begin(), steps_.end(), run.rows.sessions) == steps_.end())
        steps_.push_back(run.rows.sessions);
    std::sort(steps_.begin(), steps_.end());
    for (const ReportRun& run : page.runs)
      if (!run.rows.seeds.empty()) rows_[{arm_of(page, run.rows), run.rows.sessions}] = &run.rows;
  }

  LineChart chart(const char* column_name, std::string title, std::string unit) const {
    const Column& column = *std::find_if(columns.begin(), columns.end(),
                                         [&](const Column& c) { return std::string(c.name) == column_name; });
    LineChart chart;
    chart.title = std::move(title);
    chart.unit = std::move(unit);
    chart.decimals = column.decimals;
    for (const std::uint32_t step : steps_) chart.steps.push_back(std::to_string(step));
    for (std::size_t arm = 0; arm < arms_.size(); ++arm) chart.series.push_back(series(column, arm));
    return chart;
  }
  const std::vector<std::string>& arms() const { return arms_; }

 private:
  LineSeries series(const Column& column, std::size_t arm) const {
    LineSeries series;
    series.name = arms_[arm];
    series.look = arm;
    bool spread = false;
    for (const std::uint32_t step : steps_) {
      const auto found = rows_.find({arms_[arm], step});
      if (found == rows_.end()) {
        for (auto* list : {&series.value, &series.least, &series.most}) list->push_back(nothing);
        continue;
      }
      const std::vector<LoopRow>& seeds = found->second->seeds;
      double least = nothing, most = nothing;
      for (const LoopRow& row : seeds) {
        const double value = row.*column.value * column.times;
        least = std::fmin(least, value);
        most = std::fmax(most, value);
      }
      spread |= seeds.size() > 1;
      series.value.push_back(mean_of(seeds).*column.value * column.times);
      series.least.push_back(least);
      series.most.push_back(most);
    }
    if (!spread) series.least.clear(), series.most.clear();
    return series;
  }

  std::vector<std::string> arms_;
  std::vector<std::uint32_t> steps_;
  std::map<std::pair<std::string, std::uint32_t>, const LoopRows*> rows_;
};

std::string figure(const LineChart& chart) {
  return "<figure><figcaption>" + escaped(chart.title) +
         (chart.unit.empty() ? "" : " <span>" + escaped(chart.unit) + "</span>") + "</figcaption>" + svg_of(chart) +
         "</figure>\n";
}

// The same axis for both, so that they can be compared.
void share_axis(LineChart& a, LineChart& b) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const LineChart* chart : {&a, &b})
    for (const LineSeries& series : chart->series)
      for (const auto* values : {&series.value, &series.least, &series.most})
        for (const double value : *values)
          if (value > 0) least = std::min(least, value), most = std::max(most, value);
  if (most == 0) return;
  const auto decade = [](double value) { return std::pow(10, std::floor(std::log10(value))); };
  a.low = b.low = decade(least) * (least >= 5 * decade(least) ? 5 : least >= 2 * decade(least) ? 2 : 1);
  a.high = b.high = decade(most) * (most > 5 * decade(most) ? 10 : most > 2 * decade(most) ? 5 : 2);
}

std::string charts(const ReportPage& page, const Figures& figures) {
  LineChart p50 = figures.chart("ttfb_p50_s", "Time to first token, median", "seconds, log scale");
  LineChart p95 = figures.chart("ttfb_p95_s", "Time to first token, 95 of 100 are faster", "seconds, log scale");
  p50.logarithmic = p95.logarithmic = true;
  share_axis(p50, p95);
  LineChart hits = figures.chart("prefix_hit_share", "Prompt tokens found in the cache", "%");
  hits.high = 100;
  LineChart busy = figures.chart("replicas_busy", "Replicas with something to do, on average",
                                 page.replicas.empty() ? "" : "of " + std::to_string(page.replicas.size()));
  if (!page.replicas.empty()) {
    busy.high = static_cast<double>(page.replicas.size());
    busy.tick = std::ceil(busy.high / 8);
  }
  std::string out = "<ul class=\"keys\">";
  for (std::size_t arm = 0; arm < figures.arms().size(); ++arm)
    out += "<li>" + svg_key(arm) + escaped(figures.arms()[arm]) + "</li>";
  out += "</ul>\n<div class=\"grid\">\n" + figure(p50) + figure(p95) + figure(hits) +
         figure(figures.chart("output_tokens_per_min", "Tokens made", "per minute")) + figure(busy) +
         figure(figures.chart("sessions_per_hour", "Sessions finished", "per hour"));
  return out + "</div>\n";
}

std::string cell(const LoopRows& rows, const Column& column) {
  std::string out = "<td>" + shown(mean_of(rows.seeds).*column.value * column.times, column.decimals);
  if (rows.seeds.size() > 1) {
    double least = nothing, most = nothing;
    for (const LoopRow& row : rows.seeds) {
      least = std::fmin(least, row.*column.value);
      most = std::fmax(most, row.*column.value);
    }
    out += "<small>" + shown(least * column.times, column.decimals) + " – " +
           shown(most * column.times, column.decimals) + "</small>";
  }
  return out + "</td>";
}

std::string table(const ReportPage& page) {
  std::string out = "<div class=\"scroll\"><table><thead><tr><th>arm</th><th>sessions</th>";
  for (const Column& column : columns) out += "<th>" + escaped(column.head) + "</th>";
  out += "</tr></thead><tbody>\n";
  std::string before;
  for (const ReportRun& run : page.runs) {
    if (run.rows.seeds.empty()) continue;
    const std::string arm = arm_of(page, run.rows);
    out += (arm == before ? "<tr><td>" : "<tr class=\"first\"><td>") + escaped(arm) + "</td><td>" +
           std::to_string(run.rows.sessions) + "</td>";
    before = arm;
    for (const Column& column : columns) out += cell(run.rows, column);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string arm_of(const ReportPage& page, const LoopRows& rows) {
  const bool one_target = std::all_of(page.runs.begin(), page.runs.end(), [&](const ReportRun& run) {
    return run.rows.target == page.runs.front().rows.target;
  });
  if (one_target && !rows.policy.empty()) return rows.policy;
  return rows.policy.empty() ? rows.target : rows.target + " " + rows.policy;
}

std::vector<std::string> arms_of(const ReportPage& page) {
  std::vector<std::string> arms;
  for (const ReportRun& run : page.runs)
    if (std::string arm = arm_of(page, run.rows); std::find(arms.begin(), arms.end(), arm) == arms.end())
      arms.push_back(std::move(arm));
  return arms;
}

std::string html_of(const ReportPage& page) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      escaped(page.title) + "</title>\n<style>" + report_style + "</style></head>\n<body>\n";
  // The hatching that the areas refer to.
  out +=
      "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" "
      "width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"5\" "
      "height=\"5\" style=\"fill:var(--computed);opacity:.4\"/><rect width=\"2\" height=\"5\" "
      "style=\"fill:var(--computed)\"/></pattern></defs></svg>\n";
  out += "<h1>" + escaped(page.title) + "</h1>\n<p class=\"quiet\">" + escaped(page.subtitle) + "</p>\n<dl>";
  for (const auto& [name, value] : page.facts) out += "<dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd>";
  out += "</dl>\n";
  if (!page.notes.empty()) {
    out += "<ul class=\"notes\">";
    for (const std::string& note : page.notes) out += "<li>" + escaped(note) + "</li>";
    out += "</ul>\n";
  }
  out += "<h2>Step by step</h2>\n" + charts(page, Figures(page));
  out += "<h2>All figures</h2>\n" + table(page) + times_section(page);
  return out + "<footer>Made by warmgate. This page loads nothing.</footer>\n</body></html>\n";
}

}  // namespace wg::sim
