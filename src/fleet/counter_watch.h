// What a turn found cached, where answers do not say it: an engine counts the prompt tokens that it has looked up and
// found, for all its turns together. A turn that was read alone between two looks at these counters is known from their
// difference. Also tells whether an engine keeps prefixes at all.
// Invariant: a figure is given only if the looked-up tokens were those of that turn. Values only; owner: the fleet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/ids.h"
#include "core/units.h"

namespace wg::fleet {

class CounterWatch {
 public:
  // A turn goes there. `others_unread`: some that were sent before have not been read yet.
  void sent(RequestId turn, bool others_unread);
  // The counters as they are now. `any_unread`: of those that were sent. True: they have begun anew, so the engine has.
  bool look(double queries, double hits, bool any_unread);
  // Of a turn that had so many prompt tokens. Empty: it was not alone.
  std::optional<Tokens> cached_of(RequestId turn, Tokens prompt) const;

 private:
  struct Seen {
    RequestId turn = 0;
    double queries = 0, hits = 0;
  };
  Seen last_;  // the counters at the last look
  bool looked_ = false;
  bool quiet_ = false;          // then nothing was unread, and nothing has been sent since
  Seen watched_;                // turn 0: none; the counters before it
  std::array<Seen, 8> seen_{};  // what was made out of late
  std::size_t next_ = 0;
};

// An engine can be started without a prefix cache, or have one that never hits.
class KeepsPrefixes {
 public:
  void tell(std::optional<bool> told) { told_ = told; }
  // A turn should have found so much there, and found so much.
  void turn(Tokens expected, Tokens cached);
  bool no() const { return told_ == false || fruitless_ >= enough; }
  bool was_told() const { return told_ == false; }

 private:
  static constexpr std::uint32_t enough = 24;
  std::optional<bool> told_;
  std::uint32_t fruitless_ = 0;  // turns in a row
};

}  // namespace wg::fleet
