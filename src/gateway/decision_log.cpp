#include "gateway/decision_log.h"

#include <algorithm>

namespace wg::gateway {

void DecisionLog::add(const fleet::Note& note, TimePoint at) {
  LoggedDecision logged{at, note};
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

}  // namespace wg::gateway
