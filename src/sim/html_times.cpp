#include "sim/html_times.h"

#include <algorithm>
#include <set>

#include "sim/svg.h"
#include "sim/svg_text.h"

namespace wg::sim {

namespace {

constexpr std::size_t most_points = 90, table_rows = 12;

// Neighbours put together until there are at most `most`: tokens become a rate per second, the rest a mean.
struct Times {
  double from_s = 0;
  std::vector<double> at_s, cached, computed, busy;
  std::vector<std::vector<double>> kv;  // by replica
};
Times gathered(const std::vector<LoopSample>& samples, std::size_t most) {
  Times out;
  const std::size_t each = (samples.size() + most - 1) / most, replicas = samples.front().kv_usage.size();
  const double first_gap = samples.size() > 1 ? samples[1].at_s - samples[0].at_s : 1;
  out.from_s = std::max(0.0, samples.front().at_s - first_gap);
  out.kv.resize(replicas);
  double before_s = out.from_s;
  for (std::size_t i = 0; i < samples.size(); i += each) {
    const std::size_t end = std::min(i + each, samples.size());
    const auto count = static_cast<double>(end - i);
    const double span = std::max(samples[end - 1].at_s - before_s, 1e-9);
    double cached = 0, computed = 0, busy = 0;
    std::vector<double> kv(replicas);
    for (std::size_t j = i; j < end; ++j) {
      cached += samples[j].cached_tokens;
      computed += samples[j].computed_tokens;
      busy += samples[j].busy;
      for (std::size_t r = 0; r < replicas && r < samples[j].kv_usage.size(); ++r) kv[r] += samples[j].kv_usage[r];
    }
    out.at_s.push_back((before_s + samples[end - 1].at_s) / 2);
    out.cached.push_back(cached / span);
    out.computed.push_back(computed / span);
    out.busy.push_back(busy / count);
    for (std::size_t r = 0; r < replicas; ++r) out.kv[r].push_back(kv[r] / count);
    before_s = samples[end - 1].at_s;
  }
  return out;
}

std::string replica_name(const ReportPage& page, std::size_t replica) {
  return replica < page.replicas.size() ? page.replicas[replica] : "replica " + std::to_string(replica);
}

std::string figure(const std::string& caption, const std::string& what, const std::string& svg) {
  return "<figure><figcaption>" + escaped(caption) + " <span>" + what + "</span></figcaption>" + svg + "</figure>\n";
}

std::string charts(const ReportPage& page, const ReportRun& run, double high) {
  const Times times = gathered(run.samples, most_points);
  const std::string arm = arm_of(page, run.rows);
  AreaChart tokens{arm + ": prompt tokens cached and computed over time",
                   "cached",
                   "computed",
                   times.from_s,
                   run.samples.back().at_s,
                   high,
                   times.at_s,
                   times.cached,
                   times.computed};
  StripChart kv{arm + ": KV cache in use by running turns, by replica over time",
                times.from_s,
                run.samples.back().at_s,
                {},
                times.at_s,
                times.kv};
  for (std::size_t r = 0; r < times.kv.size(); ++r) kv.names.push_back(replica_name(page, r));
  std::string out = figure(arm, "prompt tokens a second", svg_of(tokens));
  if (!kv.names.empty()) out += figure(arm, "KV cache held by running turns; a full strip is 100 %", svg_of(kv));
  return out;
}

std::string table(const ReportPage& page, const std::vector<const ReportRun*>& runs) {
  std::string head = "<tr><th>minute</th>", body;
  std::vector<Times> all;
  for (const ReportRun* run : runs) {
    all.push_back(gathered(run->samples, table_rows));
    const std::string arm = escaped(arm_of(page, run->rows));
    for (const char* what : {"cached tok/s", "computed tok/s", "busy", "KV %"})
      head += "<th>" + arm + " " + what + "</th>";
  }
  for (std::size_t i = 0; i < all.front().at_s.size(); ++i) {
    body += "<tr><td>" + clock_text(all.front().at_s[i]) + "</td>";
    for (const Times& times : all) {
      if (i >= times.at_s.size()) {
        body += "<td></td><td></td><td></td><td></td>";
        continue;
      }
      double kv = 0;
      for (const auto& row : times.kv) kv += 100 * row[i] / static_cast<double>(times.kv.size());
      body += "<td>" + shown(times.cached[i], 0) + "</td><td>" + shown(times.computed[i], 0) + "</td><td>" +
              shown(times.busy[i], 1) + "</td><td>" + shown(kv, 0) + "</td>";
    }
    body += "</tr>\n";
  }
  return "<details><summary>The same as figures</summary><div class=\"scroll\"><table><thead>" + head +
         "</tr></thead><tbody>\n" + body + "</tbody></table></div></details>\n";
}

}  // namespace

std::string times_section(const ReportPage& page) {
  std::set<std::uint32_t> steps;
  for (const ReportRun& run : page.runs)
    if (run.samples.size() > 1) steps.insert(run.rows.sessions);
  if (steps.empty()) return {};
  std::string out =
      "<h2>Over time</h2>\n<ul class=\"keys\"><li><svg class=\"patch\" viewBox=\"0 0 26 14\"><rect class=\"cached\" "
      "width=\"26\" height=\"14\"/></svg>found in the cache</li><li><svg class=\"patch\" viewBox=\"0 0 26 14\"><rect "
      "class=\"computed\" width=\"26\" height=\"14\"/></svg>computed anew</li></ul>\n";
  const std::uint32_t open = *std::next(steps.begin(), static_cast<std::ptrdiff_t>(steps.size() / 2));
  for (const std::uint32_t step : steps) {
    std::vector<const ReportRun*> runs;
    double high = 0;
    for (const ReportRun& run : page.runs) {
      if (run.rows.sessions != step || run.samples.size() < 2) continue;
      runs.push_back(&run);
      const Times times = gathered(run.samples, most_points);
      for (std::size_t i = 0; i < times.at_s.size(); ++i) high = std::max(high, times.cached[i] + times.computed[i]);
    }
    out += std::string("<details") + (step == open ? " open" : "") + "><summary>" + std::to_string(step) +
           " sessions at a time</summary>\n<div class=\"grid\">\n";
    for (const ReportRun* run : runs) out += charts(page, *run, round_up(std::max(high, 1.0)));
    out += "</div>\n" + table(page, runs) + "</details>\n";
  }
  return out;
}

}  // namespace wg::sim
