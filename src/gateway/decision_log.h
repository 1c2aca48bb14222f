// The last decisions, for the question why a turn went where it went. Bounded; of wide pools only the candidates that
// could have won are kept. Owner: the brain.
// Invariant: at most `limit` entries, in order of time.
#pragma once

#include <deque>
#include <string>

#include "fleet/events.h"

namespace wg::gateway {

struct LoggedDecision {
  TimePoint at;
  fleet::Note note;  // its candidates: the chosen one, home and the cheapest
};

class DecisionLog {
 public:
  static constexpr std::size_t limit = 4096, most_candidates = 8;

  void add(const fleet::Note& note, TimePoint at);
  const std::deque<LoggedDecision>& all() const { return decisions_; }

 private:
  std::deque<LoggedDecision> decisions_;
};

}  // namespace wg::gateway
