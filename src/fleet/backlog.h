// What has been sent to a replica and not been read yet, and how long reading it should take. Engines read in turn:
// when one has been read, the rest begins now. Invariants: each turn counts once, from sent() to read(); never below
// zero, and zero when nothing is unread. Owner: the fleet.
#pragma once

#include <algorithm>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace wg::fleet {

// 0 if nothing is unread, or what is should have been read by now.
inline double backlog_s(std::size_t unread, TimePoint read_by, TimePoint now) {
  return unread == 0 ? 0 : std::max(0.0, to_seconds(read_by - now));
}

class Backlog {
 public:
  std::size_t turns() const { return unread_.size(); }
  bool empty() const { return unread_.empty(); }
  TimePoint read_by() const { return read_by_; }  // when they should all have been read; past if there are none
  double seconds(TimePoint now) const { return backlog_s(turns(), read_by_, now); }

  void sent(RequestId turn, double read_s, TimePoint now) {
    unread_.push_back({turn, read_s});
    sum_s_ += read_s;
    read_by_ = std::max(read_by_, now) + from_seconds(read_s);
  }
  // It was prefilled, or has ended before that. For the second time: nothing.
  void read(RequestId turn, TimePoint now) {
    const auto found = std::find_if(unread_.begin(), unread_.end(), [&](const Turn& its) { return its.id == turn; });
    if (found == unread_.end()) return;
    const double read_s = found->read_s;
    unread_.erase(found);
    sum_s_ = unread_.empty() ? 0 : std::max(0.0, sum_s_ - read_s);
    read_by_ = now + from_seconds(sum_s_);
  }

 private:
  struct Turn {
    RequestId id;
    double read_s;
  };
  std::vector<Turn> unread_;
  double sum_s_ = 0;  // predicted, of all of these
  TimePoint read_by_;
};

}  // namespace wg::fleet
