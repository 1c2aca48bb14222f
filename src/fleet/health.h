// Whether one engine is up. All ranks of an engine share a process, so they go and come together.
// Invariants: starts down; only a believed good probe brings it up; says true exactly when the state changed.
// Owner: the fleet.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace wg::fleet {

class EngineHealth {
 public:
  static constexpr std::uint32_t misses_until_down = 3;

  bool up() const { return up_; }

  // /health and a metrics scrape both succeeded. Not believed while the engine may be dying.
  bool probe_good(TimePoint now);
  // One of them failed: the third in a row takes the engine down, a refused connection does so at once.
  bool probe_bad(bool refused);
  // Real traffic met a refused connection or a reset in mid-stream.
  bool broken();
  // Real traffic met an unasked abort or an engine-dead error: such a group answers /health for some seconds yet.
  bool dying(TimePoint now, Duration dying_for);
  // The engine came back as something else: what was known of it is void.
  bool unknown();

  // How long good probes are not believed from `now` on; 0 if they are.
  Duration distrust(TimePoint now) const;

 private:
  bool go_down();

  bool up_ = false;
  std::uint32_t misses_ = 0;
  TimePoint distrusted_until_{};
};

}  // namespace wg::fleet
