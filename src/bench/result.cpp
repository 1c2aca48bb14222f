#include "bench/result.h"

#include <algorithm>
#include <cmath>

#include "bench/figures.h"

namespace wg::bench {
namespace {

// Looks at another number of ranks than the last one had are left out: an engine was gone.
std::vector<sim::LoopSample> samples_of(const std::vector<EngineLook>& looks, double time_scale) {
  std::vector<sim::LoopSample> samples;
  const EngineLook* before = &looks.front();
  for (std::size_t i = 1; i < looks.size(); ++i) {
    const EngineLook& look = looks[i];
    if (!look.complete || !before->complete || look.by_rank.size() != looks.back().by_rank.size()) continue;
    sim::LoopSample& sample = samples.emplace_back();
    sample.at_s = to_seconds(look.at - looks.front().at) * time_scale;
    sample.busy = look.busy;
    const double queries = look.prefix_queries - before->prefix_queries, hits = look.prefix_hits - before->prefix_hits;
    sample.cached_tokens = std::max(0.0, hits);
    sample.computed_tokens = std::max(0.0, queries - hits);
    for (const EngineLook::Rank& rank : look.by_rank) sample.kv_usage.push_back(rank.kv_usage.value_or(0));
    before = &look;
  }
  return samples;
}

}  // namespace

void keep(BenchResult& result, const ResultPlace& place, Measured measured, const std::vector<EngineLook>& looks,
          double time_scale) {
  const EngineLook &before = looks.front(), &after = looks.back();
  TargetFacts& facts = result.targets[place.target];
  const bool counted = before.complete && after.complete && after.prefix_queries > before.prefix_queries &&
                       after.prefix_hits >= before.prefix_hits;  // not started anew meanwhile
  if (counted && after.preemptions >= before.preemptions)
    measured.preemptions = static_cast<std::uint64_t>(after.preemptions - before.preemptions);
  for (std::size_t i = 1; i + 1 < looks.size(); ++i)
    if (looks[i].complete) measured.busy.push_back(looks[i].busy);
  sim::LoopRow row = loop_row(figures(measured, time_scale));
  if (std::isfinite(row.prefix_hit_share)) facts.hits_from = "usage";
  if (counted) {
    row.prefix_hit_share = (after.prefix_hits - before.prefix_hits) / (after.prefix_queries - before.prefix_queries);
    facts.hits_from = "engines";
  }
  if (std::isfinite(row.stayed_share)) facts.stayed_from = "answers";
  for (const auto& [kind, count] : measured.failures_by_kind) result.failures[kind] += count;
  result.failed += measured.failures;
  result.asked += measured.failures + measured.turns.size();
  if (!measured.last_failure.empty()) result.last_failure = measured.last_failure;
  sim::ReportRun& run = result.runs[place.run];
  run.rows.seeds.push_back(row);
  if (place.seed > 1) return;
  run.samples = samples_of(looks, time_scale);
  if (result.replicas.empty())
    for (const EngineLook::Rank& rank : after.by_rank) result.replicas.push_back(rank.name);
}

}  // namespace wg::bench
