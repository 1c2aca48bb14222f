#include "sim/engine_settings.h"

#include <algorithm>
#include <string>

namespace wg::sim {

Duration step_time(const StepCost& cost, const StepWork& work) {
  const double kv =
      static_cast<double>(work.decode_kv.count) + cost.prefill_kv_share * static_cast<double>(work.prefill_kv.count);
  const double prefill_s = static_cast<double>(work.prefill_tokens.count) / cost.prefill_tokens_per_s;
  return from_seconds(cost.base_s + kv * cost.kv_bytes_per_token / cost.kv_bytes_per_s +
                      std::max(0.0, prefill_s - cost.prefill_hidden_s));
}

Result<EngineSettings> checked(const EngineSettings& settings) {
  const auto wrong = [](std::string what) { return fail(Fault::client, std::move(what)); };
  const std::string block = std::to_string(settings.block_size), kv = std::to_string(settings.kv_tokens.count);
  if (settings.block_size == 0) return wrong("block size must be at least 1");
  if (settings.kv_tokens.count % settings.block_size != 0)
    return wrong("block size " + block + " is not a divisor of the " + kv + " KV tokens");
  if (settings.kv_tokens.count / settings.block_size < 2)
    return wrong(kv + " KV tokens are fewer than two blocks of " + block + " (one block is never used)");
  if (settings.kv_tokens.count / settings.block_size > 100'000'000) return wrong(kv + " KV tokens are too many");
  if (settings.max_num_seqs == 0) return wrong("max_num_seqs must be at least 1");
  if (settings.max_num_batched_tokens < settings.max_num_seqs)
    return wrong("max_num_batched_tokens " + std::to_string(settings.max_num_batched_tokens) +
                 " must not be less than max_num_seqs " + std::to_string(settings.max_num_seqs));
  if (settings.max_model_len.count < 0 || settings.max_model_len > settings.cache_holds())
    return wrong("max_model_len " + std::to_string(settings.max_model_len.count) + " is more than the cache holds (" +
                 std::to_string(settings.cache_holds().count) + " tokens)");
  if (settings.model_len().count < 2) return wrong("max_model_len must be at least 2");
  const StepCost& cost = settings.cost;
  if (!(cost.base_s > 0) || !(cost.kv_bytes_per_s > 0) || !(cost.prefill_tokens_per_s > 0) ||
      !(cost.kv_bytes_per_token >= 0) || !(cost.prefill_kv_share >= 0) || !(cost.prefill_hidden_s >= 0))
    return wrong("step cost: base time and rates must be positive, the rest not negative");
  return settings;
}

}  // namespace wg::sim
