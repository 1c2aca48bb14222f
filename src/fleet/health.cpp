#include "fleet/health.h"

#include <algorithm>
#include <utility>

namespace wg::fleet {

bool EngineHealth::probe_good(TimePoint now) {
  if (now < distrusted_until_) return false;
  misses_ = 0;
  suspected_until_ = {};
  return !std::exchange(up_, true);
}

bool EngineHealth::probe_bad(bool refused, TimePoint now) {
  if (!up_) return false;
  ++misses_;
  if (suspected(now)) suspected_until_ = now + doubt_at_most;
  return (refused || misses_ >= misses_until_down) && go_down();
}

bool EngineHealth::broken() { return go_down(); }

bool EngineHealth::suspect(TimePoint now) {
  if (!up_ || suspected(now)) return false;
  suspected_until_ = now + doubt_at_most;
  return true;
}

bool EngineHealth::dying(TimePoint now, Duration dying_for) {
  distrusted_until_ = std::max(distrusted_until_, now + dying_for);
  return go_down();
}

bool EngineHealth::unknown() {
  distrusted_until_ = {};
  return go_down();
}

Duration EngineHealth::distrust(TimePoint now) const { return std::max(Duration{}, distrusted_until_ - now); }

bool EngineHealth::go_down() {
  misses_ = 0;
  suspected_until_ = {};
  return std::exchange(up_, false);
}

}  // namespace wg::fleet
