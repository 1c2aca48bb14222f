// What one look at an engine's metrics says, for each of its ranks, whatever the engine is. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/units.h"

namespace wg::probe {

enum class EngineKind : std::uint8_t { unknown, vllm, sglang, llama_cpp };
std::string_view name_of(EngineKind kind);

struct RankSample {
  std::uint32_t rank = 0;
  double running = 0, waiting = 0;             // requests in the engine
  std::optional<double> kv_usage;              // 0..1, blocks held by requests; absent: the engine has no such gauge
  std::optional<Tokens> kv_capacity;           // of this rank
  bool kv_capacity_assumed = false;            // computed as num_gpu_blocks x block_size / ranks by an older vLLM
  double prefix_queries = 0, prefix_hits = 0;  // tokens, counters since the engine's start
  double prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;  // counters
  double preemptions = 0;
  std::optional<bool> prefix_caching;  // switched on at all
  bool kv_is_8_bit = false;            // fp8 KV cache
  std::optional<double> max_running;   // concurrent sequences, where the engine tells (SGLang)
  std::optional<std::uint32_t> block_size;
};

struct EngineSample {
  EngineKind kind = EngineKind::unknown;
  std::string model;              // model_name label, if any
  std::vector<RankSample> ranks;  // by rank, at least one
};

// Prometheus text of any of the engines. Bounded work: at most 16 MiB of text and 1,024 ranks. Error: none of the known
// engines' names in it. Unknown names and labels are passed over; NaN and infinities read as 0.
Result<EngineSample> parse_metrics(std::string_view text);

}  // namespace wg::probe
