#include "probe/known_names.h"

#include <array>

namespace wg::probe {
namespace {

using enum EngineKind;

// Names of vLLM 0.8 to 0.32, SGLang 0.5, llama.cpp of 2026. gpu_* are vLLM's names before 2025-11.
constexpr std::array known_names{
    KnownName{vllm, "num_requests_running", Field::running},
    KnownName{vllm, "num_requests_waiting", Field::waiting},
    KnownName{vllm, "kv_cache_usage_perc", Field::kv_usage},
    KnownName{vllm, "gpu_cache_usage_perc", Field::kv_usage},
    KnownName{vllm, "prefix_cache_queries", Field::queries},
    KnownName{vllm, "gpu_prefix_cache_queries", Field::queries},
    KnownName{vllm, "prefix_cache_hits", Field::hits},
    KnownName{vllm, "gpu_prefix_cache_hits", Field::hits},
    KnownName{vllm, "prompt_tokens", Field::prompt},
    KnownName{vllm, "prompt_tokens_cached", Field::cached},
    KnownName{vllm, "generation_tokens", Field::generated},
    KnownName{vllm, "num_preemptions", Field::preemptions},
    KnownName{vllm, "cache_config_info", Field::cache_config},

    KnownName{sglang, "num_running_reqs", Field::running},
    KnownName{sglang, "num_queue_reqs", Field::waiting},
    KnownName{sglang, "token_usage", Field::kv_usage},
    KnownName{sglang, "max_total_num_tokens", Field::kv_capacity},
    KnownName{sglang, "page_size", Field::block_size},
    KnownName{sglang, "max_running_requests", Field::max_running},
    KnownName{sglang, "prompt_tokens", Field::prompt, Repeated::sum},
    KnownName{sglang, "cached_tokens", Field::cached, Repeated::sum},
    KnownName{sglang, "generation_tokens", Field::generated, Repeated::sum},
    KnownName{sglang, "num_retracted_requests", Field::preemptions},

    KnownName{llama_cpp, "requests_processing", Field::running},
    KnownName{llama_cpp, "requests_deferred", Field::waiting},
    KnownName{llama_cpp, "prompt_tokens", Field::prompt},
    KnownName{llama_cpp, "prompt_tokens_cached", Field::cached},
    KnownName{llama_cpp, "tokens_predicted", Field::generated},
};

// Bit n: some known name is n characters long. Histogram buckets, the bulk of a page, mostly fail already here.
constexpr std::uint64_t known_lengths = [] {
  std::uint64_t lengths = 0;
  for (const KnownName& known : known_names) lengths |= std::uint64_t{1} << known.name.size();
  return lengths;
}();

}  // namespace

EngineKind engine_of(std::string_view line) {
  if (line.empty()) return unknown;
  switch (line.front()) {
    case 'v':
      return line.starts_with("vllm:") ? vllm : unknown;
    case 's':
      return line.starts_with("sglang:") ? sglang : unknown;
    case 'l':
      return line.starts_with("llamacpp:") ? llama_cpp : unknown;
    default:
      return unknown;
  }
}

std::string_view prefix_of(EngineKind engine) {
  switch (engine) {
    case vllm:
      return "vllm:";
    case sglang:
      return "sglang:";
    case llama_cpp:
      return "llamacpp:";
    case unknown:
      break;
  }
  return {};
}

std::string_view rank_label_of(EngineKind engine) {
  return engine == vllm ? "engine" : engine == sglang ? "dp_rank" : std::string_view{};
}

const KnownName* find_known(EngineKind engine, std::string_view name) {
  constexpr std::string_view counter = "_total";
  if (name.ends_with(counter)) name.remove_suffix(counter.size());
  if (name.size() >= 64 || (known_lengths >> name.size() & 1) == 0) return nullptr;
  for (const KnownName& known : known_names)
    if (known.name.size() == name.size() && known.engine == engine && known.name == name) return &known;
  return nullptr;
}

}  // namespace wg::probe
