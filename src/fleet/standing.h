// What one replica has for those who ask, in one place: a price looks at this of every replica, so it is made when
// something there has changed, and not in each look.
// Invariant: it is what WarmReplica::standing() says. Values only; owner: the fleet.
#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "fleet/backlog.h"
#include "policy/prefill.h"
#include "policy/quantum.h"

namespace wg::fleet {

struct Standing {
  std::optional<Tokens> capacity;  // that seats may take, all together; empty: not known
  Tokens room;                     // of that, free; below 0 if those who sit there outgrew it
  Tokens leaving;                  // seats that will be free once their turns under way have ended
  std::uint32_t seated = 0, in_flight = 0, unread = 0;
  TimePoint read_by;       // when what is unread should have been read
  TimePoint first_expiry;  // of the seats that are held
  bool keeps_prefixes = true;

  // As learnt.
  policy::PrefillModel prefill;
  Tokens output, growth;  // of one answer; of a context in one turn
  Tokens step;            // in which hits come; 0: not known
  double turn_s = 0, decode_s = 0, hit_service_s = 0;

  bool operator==(const Standing&) const = default;

  // A size that nobody told and nothing has shown yet is as good as none, and sums of it do not overflow.
  Tokens seat_capacity() const { return capacity.value_or(Tokens{1'000'000'000'000}); }
  double backlog_s(TimePoint now) const { return fleet::backlog_s(unread, read_by, now); }

  // Reading so much behind what is cached, without its network and first step.
  double read_s(Tokens uncached, Tokens cached = {}) const {
    return policy::prefill_s(prefill, uncached, cached) - prefill.base_s;
  }
  // What a rotation costs: reading the newcomer's context, all of it.
  double rotation_s(Tokens context) const { return policy::prefill_s(prefill, context, {}); }
  // How many turns a resident may take while others wait, if a rotation costs so much and each of its turns is followed
  // by a pause. Empty: no bound.
  std::optional<std::uint32_t> quantum(policy::WarmMode mode, double rotation_s, double gap_s,
                                       double waiting_per_seat) const {
    return policy::quantum_turns(mode, rotation_s, turn_s + gap_s, waiting_per_seat);
  }
  // ... as plans count with it, whatever the mode and the queue.
  double usual_quantum(double rotation_s, double gap_s) const {
    return quantum(policy::WarmMode::latency, rotation_s, gap_s, 0).value_or(policy::least_quantum);
  }
};

}  // namespace wg::fleet
