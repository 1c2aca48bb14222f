#include "replica/rank_statistics.h"

#include <utility>

namespace wg::replica {

RankStatistics::RankStatistics()
    : ttft(bounds::first_token),
      queue_time(bounds::request),
      e2e(bounds::request),
      prefill_time(bounds::request),
      decode_time(bounds::request),
      inference_time(bounds::request),
      inter_token(bounds::token_gap),
      per_output_token(bounds::token_gap),
      prompt_tokens(bounds::tokens),
      generation_tokens(bounds::tokens),
      computed_tokens(bounds::tokens),
      iteration_tokens(bounds::iteration) {}

void RankStatistics::add(const sim::StepOutput& output, std::int64_t prompt, TimePoint at) {
  const double so_far = to_seconds(at - output.arrival), queued = to_seconds(output.admitted - output.arrival);
  if (output.index == 0) {
    ttft.add(so_far);
    queue_time.add(queued);
    prefill_time.add(so_far - queued);
    prompt_tokens.add(static_cast<double>(prompt));
    computed_tokens.add(static_cast<double>(prompt - output.cached.count));
    last_token_[output.id] = at;
  } else {
    TimePoint& last = last_token_[output.id];
    inter_token.add(to_seconds(at - std::exchange(last, at)));
  }
  if (output.finish == sim::FinishReason::none) return;
  forget(output.id);
  e2e.add(so_far);
  inference_time.add(so_far - queued);
  generation_tokens.add(output.index + 1.0);
}

}  // namespace wg::replica
