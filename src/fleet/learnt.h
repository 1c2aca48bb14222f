// What a replica was seen to do: how fast it reads, what a turn that hits takes, how its answers come, in what steps
// its cache gives. Nothing here is configured.
// Invariants: all figures are finite; one wild sample moves none of them far. Owner: the fleet.
#pragma once

#include "policy/break_even.h"
#include "policy/prefill_fit.h"

namespace wg::fleet {

// A mean at first, later with a memory of `last` samples.
class Mean {
 public:
  explicit Mean(double last) : last_(last) {}
  Mean(double last, double first_guess) : last_(last), count_(1), value_(first_guess) {}
  void add(double sample) {
    count_ = count_ < last_ ? count_ + 1 : last_;
    value_ += (sample - value_) / count_;
  }
  bool known() const { return count_ > 0; }
  double value_or(double fallback) const { return known() ? value_ : fallback; }

 private:
  double last_, count_ = 0, value_ = 0;
};

// One turn that came to its end, as it was seen from outside.
struct TurnSeen {
  Tokens prompt, cached, output;
  bool cached_measured = false;
  double first_content_s = 0;  // since it was dispatched; 0: there was none
  double whole_s = 0;
  std::uint32_t beside = 0;  // how many others were in flight there when it was sent
  bool clean = false;        // none of them waited to be read, and there was room for all
};

// The time between two tokens as a line over how many answers are made at once. Least squares with forgetting.
class InterToken {
 public:
  void add(double beside, double seconds);
  double alone_s() const { return alone_s_; }
  double each_more_s() const { return each_more_s_; }

 private:
  double alone_s_ = 0, each_more_s_ = 0;
  double weight_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

class Learnt {
 public:
  // `all` are those of all replicas like it.
  void add(const TurnSeen& turn, const policy::PrefillFit* all, InterToken* all_tokens);

  const policy::PrefillModel& prefill() const { return fit_.model(); }
  const policy::PrefillFit& fit() const { return fit_; }
  double decode_s() const;  // of one answer, alone
  double hit_service_s() const { return hit_service_.value_or(0); }
  double turn_s() const;  // of a hit turn: as seen, or as it should be
  Tokens output() const { return {static_cast<std::int64_t>(output_.value_or(256))}; }
  void grew(Tokens by) { growth_.add(static_cast<double>(by.count)); }
  Tokens growth() const { return {static_cast<std::int64_t>(growth_.value_or(0))}; }  // of a context in one turn
  // In which hits come: a block of the engine's cache; 0: not known. Of a few hits more is common than that.
  Tokens step() const { return {step_ <= 2'048 ? step_ : 0}; }

 private:
  policy::PrefillFit fit_;
  Mean hit_service_{50}, output_{50}, growth_{50};
  InterToken inter_token_;
  std::int64_t step_ = 0;
};

}  // namespace wg::fleet
