#include "fleet/counter_watch.h"

#include <algorithm>
#include <cmath>

namespace wg::fleet {

namespace {
constexpr std::int64_t worth_expecting = 1'024;  // tokens; of less some engines keep nothing
}

void CounterWatch::sent(RequestId turn, bool others_unread) {
  watched_ = quiet_ && !others_unread ? Seen{turn, last_.queries, last_.hits} : Seen{};
  quiet_ = false;
}

bool CounterWatch::look(double queries, double hits, bool any_unread) {
  const bool anew = looked_ && (queries < last_.queries || hits < last_.hits);
  if (anew) *this = {};
  if (watched_.turn != 0 && !any_unread) {
    seen_[next_++ % seen_.size()] = {watched_.turn, queries - watched_.queries, hits - watched_.hits};
    watched_ = {};
  }
  last_ = {0, queries, hits};
  looked_ = true;
  quiet_ = !any_unread;
  return anew;
}

std::optional<Tokens> CounterWatch::cached_of(RequestId turn, Tokens prompt) const {
  const auto found = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& one) { return one.turn == turn; });
  if (turn == 0 || found == seen_.end()) return std::nullopt;
  // Somebody else's lookups are among them, or the engine does not count this way.
  const auto whole = static_cast<double>(prompt.count);
  if (std::abs(found->queries - whole) > std::max(16.0, whole / 50)) return std::nullopt;
  return Tokens{std::clamp<std::int64_t>(std::llround(found->hits), 0, prompt.count)};
}

void KeepsPrefixes::turn(Tokens expected, Tokens cached) {
  if (cached > Tokens{})
    fruitless_ = 0;
  else if (expected.count >= worth_expecting && fruitless_ < enough)
    ++fruitless_;
}

}  // namespace wg::fleet
