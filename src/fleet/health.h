// Whether one engine is up. All ranks of an engine share a process, so they go and come together.
// Invariants: starts down; only a believed good probe brings it up; says true exactly when the state changed; what is
// down is not suspected.
// Owner: the fleet.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace wg::fleet {

class EngineHealth {
 public:
  static constexpr std::uint32_t misses_until_down = 3;
  // Longer than a look takes that gets no answer: looks are due every second, and give up after two.
  static constexpr Duration doubt_at_most = std::chrono::seconds(4);

  bool up() const { return up_; }

  // /health and a metrics scrape both succeeded. Not believed while the engine may be dying.
  bool probe_good(TimePoint now);
  // One of them failed: the third in a row takes the engine down, a refused connection does so at once.
  bool probe_bad(bool refused, TimePoint now);
  // Real traffic met a refused connection or a reset in mid-stream.
  bool broken();
  // Real traffic met an unasked abort or an engine-dead error: such a group answers /health for some seconds yet.
  bool dying(TimePoint now, Duration dying_for);
  // Real traffic met a reset before an answer had begun. That may be the request's own fault or the engine's end; a
  // look will tell. Until then, and no longer than `doubt_at_most`, it is suspected. True: it was not already.
  bool suspect(TimePoint now);
  bool suspected(TimePoint now) const { return up_ && now < suspected_until_; }
  // The engine came back as something else: what was known of it is void.
  bool unknown();

  // How long good probes are not believed from `now` on; 0 if they are.
  Duration distrust(TimePoint now) const;

 private:
  bool go_down();

  bool up_ = false;
  std::uint32_t misses_ = 0;
  TimePoint distrusted_until_{}, suspected_until_{};
};

}  // namespace wg::fleet
