#include "fleet/health.h"

#include <algorithm>
#include <utility>

namespace wg::fleet {

bool EngineHealth::probe_good(TimePoint now) {
  if (now < distrusted_until_) return false;
  misses_ = 0;
  return !std::exchange(up_, true);
}

bool EngineHealth::probe_bad(bool refused) {
  if (!up_) return false;
  ++misses_;
  return (refused || misses_ >= misses_until_down) && go_down();
}

bool EngineHealth::broken() { return go_down(); }

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
  return std::exchange(up_, false);
}

}  // namespace wg::fleet
