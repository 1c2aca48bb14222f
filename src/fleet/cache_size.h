// How many tokens of context a replica's cache can be counted on to keep: what the engine tells, or, where nobody
// tells, what was seen to stay and to go. And the safety net: where residents find less than they should, or are
// preempted, seats use less of it, step by step, and win it back slowly; what is told can be wrong, and others can
// share the cache.
// Invariants: the size is never negative nor above what is told; the share is within its bounds; under conditions that
// stay the same steps become rare. Values only; owner: the fleet.
#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"

namespace wg::fleet {

// Learns a size nobody tells. A copy that was found behind `depth` tokens shows that so many stay, one that was gone
// that fewer do. Robust: one wild sample moves it by a tenth at most.
class SizeSeen {
 public:
  void found(Tokens depth);
  void gone(Tokens depth);
  std::optional<Tokens> size() const;  // empty: too little was seen yet
  Tokens stayed() const { return {static_cast<std::int64_t>(stayed_)}; }

 private:
  double stayed_ = 0, went_ = 0;  // the most that stayed, the least that went; 0: none was seen
  std::uint32_t times_gone_ = 0;
};

// The share of a cache that seats use.
class SafetyNet {
 public:
  static constexpr double least_share = 0.3, shrink = 0.85, rise = 0.03;
  static constexpr Duration first_patience = std::chrono::seconds(30), most_patience = std::chrono::minutes(32);

  // The turn of a resident, whose copy was protected: how much of what should have been there was.
  void resident(Tokens expected, Tokens cached, TimePoint now);
  // Running requests were put back. What happens while no resident comes says nothing about residents.
  void preempted(double times) { preempted_ += turns_ > 0 ? times : 0; }

  double share() const { return share_; }
  std::uint64_t steps_down() const { return steps_down_; }

 private:
  void judge(TimePoint now);
  void step_down(TimePoint now);
  void step_up(TimePoint now);

  double share_ = 1;
  double edge_ = 1;  // where it failed last; beyond that it goes only after `patience_`
  double expected_ = 0, cached_ = 0, preempted_ = 0;  // in this window
  std::uint32_t turns_ = 0, steps_up_in_a_row_ = 0;
  TimePoint window_began_{}, may_rise_{}, may_pass_edge_{};
  Duration patience_ = first_patience;
  std::uint64_t steps_down_ = 0;
};

class CacheSize {
 public:
  void tell(std::optional<Tokens> told) { told_ = told; }
  std::optional<Tokens> told() const { return told_; }
  bool is_learnt() const { return !told_ && seen_.size().has_value(); }
  // What seats may take. Empty: nobody told, and too little was seen.
  std::optional<Tokens> value() const;

  SizeSeen& seen() { return seen_; }
  SafetyNet& net() { return net_; }
  const SafetyNet& net() const { return net_; }

 private:
  std::optional<Tokens> told_;
  SizeSeen seen_;
  SafetyNet net_;
};

}  // namespace wg::fleet
