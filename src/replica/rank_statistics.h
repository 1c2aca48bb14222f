// What the metrics page tells of a rank, beside the engine's own counters: how long its requests waited, were read and
// answered, and how long they were. Owner: one loop.
#pragma once

#include <unordered_map>

#include "replica/histogram.h"
#include "sim/engine.h"

namespace wg::replica {

struct RankStatistics {
  Histogram ttft, queue_time, e2e, prefill_time, decode_time, inference_time, inter_token, per_output_token;
  Histogram prompt_tokens, generation_tokens, computed_tokens, iteration_tokens;

  RankStatistics();
  // A token that came at this time, of a request with so many prompt tokens.
  void add(const sim::StepOutput& output, std::int64_t prompt, TimePoint at);
  void forget(RequestId aborted) { last_token_.erase(aborted); }

 private:
  std::unordered_map<RequestId, TimePoint> last_token_;  // of those under way; looked up only
};

}  // namespace wg::replica
