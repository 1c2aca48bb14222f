// What one modelled engine rank is: its memory, its limits, and what a step costs. Values only.
// Invariant of settings that passed `checked`: every request shorter than model_len() can run alone, so none is stuck.
#pragma once

#include <cstdint>

#include "core/error.h"
#include "core/units.h"

namespace wg::sim {

// The seconds of one step:
//   base + (decode KV + share x prefill KV) x bytes per token / bandwidth + max(0, prefill tokens / rate - hidden).
// The defaults are those of the four-card run that was published (docs/adr/0006-cost-model.md).
struct StepCost {
  double base_s = 0.030;  // reading the weights once
  double kv_bytes_per_token = 147'456;
  double kv_bytes_per_s =
      752e9;  // what the published run comes out with: more than the card has, for the base has a part of it
  double prefill_kv_share = 1;  // of the context already there, beside a decode's
  double prefill_tokens_per_s = 4'300;
  double prefill_hidden_s = 0.024;  // so much prefill costs nothing beside reading the weights
};

struct StepWork {
  Tokens decode_kv;       // context of the requests that decode
  Tokens prefill_kv;      // context already there of the requests that prefill
  Tokens prefill_tokens;  // computed in this step
};

Duration step_time(const StepCost& cost, const StepWork& work);

struct EngineSettings {
  Tokens kv_tokens{34'000};  // as vLLM's kv_cache_size_tokens: the null block counts
  std::uint32_t block_size = 16;
  std::uint32_t max_num_seqs = 32;
  std::uint32_t max_num_batched_tokens = 2'048;
  Tokens max_model_len{0};  // prompt and answer; 0: as much as the cache holds
  bool prefix_caching = true;
  bool reserve_full_isl = true;  // a prompt is admitted only if all of it fits
  StepCost cost;

  std::uint32_t num_blocks() const { return static_cast<std::uint32_t>(kv_tokens.count / block_size); }
  Tokens cache_holds() const { return {(static_cast<std::int64_t>(num_blocks()) - 1) * block_size}; }
  Tokens model_len() const { return max_model_len.count > 0 ? max_model_len : cache_holds(); }
};

// The same settings, or what is wrong with them in one sentence.
Result<EngineSettings> checked(const EngineSettings& settings);

}  // namespace wg::sim
