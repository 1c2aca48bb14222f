#include "gateway/decision_log.h"

#include <algorithm>

namespace wg::gateway {

void DecisionLog::add(const fleet::Note& note, TimePoint at) {
  LoggedDecision logged{at, note, {}, {}};
  auto& candidates = logged.note.candidates;
  if (candidates.size() > most_candidates) {
    const auto before = [&](const policy::Candidate& a, const policy::Candidate& b) {
      const bool a_won = a.replica == note.replica, b_won = b.replica == note.replica;
      return a_won != b_won ? a_won : a.cost_s != b.cost_s ? a.cost_s < b.cost_s : a.replica < b.replica;
    };
    std::partial_sort(candidates.begin(), candidates.begin() + most_candidates, candidates.end(), before);
    candidates.resize(most_candidates);
  }
  candidates.shrink_to_fit();
  decisions_.push_back(std::move(logged));
  if (decisions_.size() > limit) decisions_.pop_front();
}

// The latest of it that sent it somewhere: most are heard of soon.
LoggedDecision* DecisionLog::of(RequestId request) {
  for (auto it = decisions_.rbegin(); it != decisions_.rend(); ++it)
    if (it->note.request == request) return it->note.replica == no_replica ? nullptr : &*it;
  return nullptr;
}

void DecisionLog::heard(const fleet::FirstContent& event, TimePoint at) {
  if (LoggedDecision* const its = of(event.request); its && !its->first_content) its->first_content = at - its->at;
}

void DecisionLog::heard(const fleet::UsageReported& event) {
  if (!event.measured) return;
  if (LoggedDecision* const its = of(event.request)) its->usage = event;
}

}  // namespace wg::gateway
