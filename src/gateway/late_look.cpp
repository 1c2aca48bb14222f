#include "gateway/late_look.h"

#include <algorithm>
#include <utility>

namespace wg::gateway {

namespace {
// Refused connections take no time; this is for silence.
constexpr Duration look_at_most = std::chrono::milliseconds(250);
}  // namespace

void LateLook::await(QuestionPtr question, PoolIndex pool, std::vector<EngineIndex> engines) {
  late_.push_back({std::move(question), pool, std::move(engines)});
  if (!timer_.armed()) timer_.set(look_at_most);
}

std::vector<QuestionPtr> LateLook::looked_at(EngineIndex engine, const std::vector<std::uint32_t>& engines_up) {
  std::vector<QuestionPtr> ready;
  std::erase_if(late_, [&](Late& late) {
    std::erase(late.awaited, engine);
    const bool is_ready = late.awaited.empty() || engines_up[late.pool] > 0;
    if (is_ready) ready.push_back(std::move(late.question));
    return is_ready;
  });
  if (late_.empty()) timer_.cancel();
  return ready;
}

std::vector<QuestionPtr> LateLook::take_all() {
  std::vector<QuestionPtr> all;
  for (Late& late : std::exchange(late_, {})) all.push_back(std::move(late.question));
  timer_.cancel();
  return all;
}

QuestionPtr LateLook::take(RequestId request) {
  const auto found =
      std::find_if(late_.begin(), late_.end(), [&](const Late& late) { return late.question->request == request; });
  if (found == late_.end()) return nullptr;
  QuestionPtr question = std::move(found->question);
  late_.erase(found);
  return question;
}

}  // namespace wg::gateway
