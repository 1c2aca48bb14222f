// The last decisions, for the question why a turn went where it went. Bounded; of wide pools only the candidates that
// could have won are kept. Owner: the brain.
// Invariant: at most `limit` entries, in order of time.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "fleet/events.h"

namespace wg::gateway {

struct LoggedDecision {
  TimePoint at;
  fleet::Note note;  // its candidates: the chosen one, home and the cheapest
  // What came of it, as it was measured.
  std::optional<Duration> first_content;      // since then
  std::optional<fleet::UsageReported> usage;  // if the engine counted it
};

class DecisionLog {
 public:
  static constexpr std::size_t limit = 4096, most_candidates = 8;

  void add(const fleet::Note& note, TimePoint at);
  void heard(const fleet::FirstContent& event, TimePoint at);
  void heard(const fleet::UsageReported& event);
  const std::deque<LoggedDecision>& all() const { return decisions_; }

 private:
  LoggedDecision* of(RequestId request);

  std::deque<LoggedDecision> decisions_;
};

}  // namespace wg::gateway
