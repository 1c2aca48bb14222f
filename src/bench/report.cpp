#include "bench/report.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace wg::bench {
namespace {

using json = nlohmann::ordered_json;

constexpr double busy_generator = 0.7;  // above this share of a core its own delays may show in the figures

constexpr const char* fairness =
    "every arm had prompts of its own, sizes and pauses alike; arms took turns in being first";

template <class... Values>
std::string text(const char* format, Values... values) {
  char line[512];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

std::string words_of(const TargetFacts& facts) {
  std::string line = facts.name + ": " + facts.url + ", model " + facts.model;
  line += text(", %.2f bytes a token", facts.calibration.bytes_per_token);
  line += facts.calibration.measured ? " (learnt from its usage)" : " (assumed: " + facts.calibration.why + ")";
  if (facts.engines > 0)
    line += text("; counters of %zu engine(s), %u rank(s)", facts.engines, facts.ranks);
  else
    line += "; no engine's counters can be read";
  return line;
}

std::string hits_words(const std::string& from) {
  if (from == "engines") return "the engines' counters";
  return from == "usage" ? "cached tokens in the answers' usage" : "nobody told";
}

std::string sources_of(const TargetFacts& facts) {
  return facts.name + ": prefix hits from " + hits_words(facts.hits_from) + "; busy replicas and preemptions from " +
         (facts.engines > 0 ? "the engines' counters" : "nobody") + "; stayed from " +
         (facts.stayed_from == "answers" ? "the answers' headers" : "nobody");
}

std::string failures_of(const BenchResult& result) {
  if (result.failed == 0) return "no turn failed";
  std::string line = text("%llu of %llu turns failed (%.1f %%): ", static_cast<unsigned long long>(result.failed),
                          static_cast<unsigned long long>(result.asked), failed_share(result) * 100);
  bool first = true;
  for (const auto& [kind, count] : result.failures) {
    line += (first ? "" : ", ") + std::to_string(count) + " x " + kind;
    first = false;
  }
  return line + "; the last: " + result.last_failure;
}

std::string generator_of(const BenchResult& result) {
  return text("the load generator used %.0f %% of a core%s", result.processor_share * 100,
              result.processor_share > busy_generator ? ": too much to trust the times" : "");
}

std::vector<sim::LoopRows> rows_of(const BenchResult& result) {
  std::vector<sim::LoopRows> rows;
  for (const sim::ReportRun& run : result.runs) rows.push_back(run.rows);
  return rows;
}

}  // namespace

std::string html_of(const BenchResult& result, const BenchPlan& plan) {
  sim::ReportPage page;
  page.title = "Measured";
  for (const TargetFacts& facts : result.targets) {
    page.title += (&facts == &result.targets.front() ? ": " : ", ") + facts.name;
    page.facts.emplace_back(facts.name, words_of(facts));
  }
  page.subtitle = "warmgate bench: " + plan.work_words + " in a closed loop over HTTP";
  page.facts.emplace_back("Each step", text("%g s behind a warm-up of %g s, %u run(s)", to_seconds(plan.step),
                                            to_seconds(plan.warmup), plan.seeds));
  for (const TargetFacts& facts : result.targets) page.notes.push_back(sources_of(facts));
  page.notes.emplace_back(fairness);
  page.notes.push_back(failures_of(result));
  page.notes.push_back(generator_of(result));
  if (plan.time_scale != 1)
    page.notes.push_back(text("times are the targets', %g times faster than ours", plan.time_scale));
  if (result.interrupted) page.notes.emplace_back("interrupted: rows hold what was measured by then");
  page.notes.insert(page.notes.end(), plan.notes.begin(), plan.notes.end());
  page.runs = result.runs;
  page.replicas = result.replicas;
  return sim::html_of(page);
}

double failed_share(const BenchResult& result) {
  return result.asked == 0 ? 0 : static_cast<double>(result.failed) / static_cast<double>(result.asked);
}

std::string text_of(const BenchResult& result, const BenchPlan& plan) {
  std::string out;
  for (const TargetFacts& facts : result.targets) out += words_of(facts) + "\n";
  out += '\n';
  if (!result.runs.empty()) out += sim::table_of(rows_of(result)) + '\n';
  out += "times and tokens as the client saw them, to the first content";
  if (plan.time_scale != 1) out += text(", in the targets' time, %g times faster than ours", plan.time_scale);
  out += "\n";
  for (const TargetFacts& facts : result.targets) out += sources_of(facts) + "\n";
  out += std::string(fairness) + "\n";
  for (const std::string& note : plan.notes) out += note + "\n";
  out += failures_of(result) + "\n";
  out += generator_of(result) + "\n";
  if (result.interrupted) out += "interrupted: rows hold what was measured by then\n";
  return out;
}

std::string json_of(const BenchResult& result, const BenchPlan& plan) {
  json page = json::parse(sim::json_of(rows_of(result)));
  page["interrupted"] = result.interrupted;
  page["time_scale"] = plan.time_scale;
  page["targets"] = json::array();
  for (const TargetFacts& facts : result.targets)
    page["targets"].push_back({{"name", facts.name},
                               {"url", facts.url},
                               {"model", facts.model},
                               {"bytes_per_token", facts.calibration.bytes_per_token},
                               {"bytes_per_token_measured", facts.calibration.measured},
                               {"engines", facts.engines},
                               {"ranks", facts.ranks},
                               {"prefix_hits_from", facts.hits_from},
                               {"stayed_from", facts.stayed_from}});
  page["failures_by_kind"] = result.failures;
  page["failed_share"] = failed_share(result);
  if (!result.last_failure.empty()) page["last_failure"] = result.last_failure;
  page["generator_processor_share"] = result.processor_share;
  return page.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace wg::bench
