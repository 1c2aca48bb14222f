// libFuzzer: any bytes as an engine's metrics page. No crash, no unbounded work, and the promises of engine_sample.h
// hold.
#include <cmath>

#include "probe/engine_sample.h"
#include "require.h"

namespace {
bool is_count(double value) { return std::isfinite(value) && value >= 0; }
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using wg::fuzz::require;
  const auto sample = wg::probe::parse_metrics(wg::fuzz::text_of(data, size));
  if (!sample) return 0;
  require(sample->kind != wg::probe::EngineKind::unknown, "a kind");
  require(!sample->ranks.empty() && sample->ranks.size() <= 1'024, "a sane number of ranks");
  std::int64_t before = -1;
  for (const wg::probe::RankSample& rank : sample->ranks) {
    require(static_cast<std::int64_t>(rank.rank) > before, "ranks rise");
    before = rank.rank;
    require(is_count(rank.running) && is_count(rank.waiting), "counts are counts");
    require(!rank.kv_usage || (*rank.kv_usage >= 0 && *rank.kv_usage <= 1), "usage is a share");
    require(!rank.kv_capacity || rank.kv_capacity->count >= 0, "capacity is not below zero");
  }
  return 0;
}
