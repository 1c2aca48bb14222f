// Any bytes as an engine's metrics page: no crash, no unbounded work, and the promises of engine_sample.h hold.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probe/engine_sample.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_count(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto sample = wg::probe::parse_metrics(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!sample) return 0;
  require(sample->kind != wg::probe::EngineKind::unknown);
  require(!sample->ranks.empty() && sample->ranks.size() <= 1'024);
  std::int64_t before = -1;
  for (const wg::probe::RankSample& rank : sample->ranks) {
    require(static_cast<std::int64_t>(rank.rank) > before);
    before = rank.rank;
    require(is_count(rank.running) && is_count(rank.waiting));
    require(!rank.kv_usage || (*rank.kv_usage >= 0 && *rank.kv_usage <= 1));
    require(!rank.kv_capacity || rank.kv_capacity->count >= 0);
  }
  return 0;
}
