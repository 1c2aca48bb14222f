#include "fleet/cache_size.h"

#include <algorithm>

namespace wg::fleet {

namespace {
// Of the size that is learnt.
constexpr std::uint32_t enough_gone = 4;
constexpr double most_step = 0.9;         // what one copy that was gone can take away
constexpr double regain = 1 + 1.0 / 512;  // what each copy that stayed far down gives back
constexpr double far_down = 0.8;          // of the most that stayed

// Of the safety net.
constexpr std::uint32_t window_turns = 16;
constexpr Duration window_time = std::chrono::seconds(8);
constexpr std::uint32_t few_turns = 8;
constexpr double plainly_bad_share = 0.5;
constexpr double bad_share = 0.7, good_share = 0.9;
constexpr double bad_preemptions = 0.5, good_preemptions = 0.25;  // a turn
constexpr std::uint32_t enough_steps_up = 4;                      // in a row: the edge is not where it was
}  // namespace

void SizeSeen::found(Tokens depth) {
  const auto d = static_cast<double>(std::max(depth.count, std::int64_t{0}));
  stayed_ = std::max(stayed_, d);
  if (went_ <= 0) return;
  if (d >= far_down * stayed_) went_ *= regain;
  went_ = std::max(went_, stayed_);
}

void SizeSeen::gone(Tokens depth) {
  const auto d = static_cast<double>(std::max(depth.count, std::int64_t{1}));
  ++times_gone_;
  // The first few say of what order it is; until then too much does no harm, as nobody waits for a seat.
  if (times_gone_ <= enough_gone) return void(went_ = std::max({went_, d, stayed_}));
  if (d < went_) went_ = std::max(d, went_ * most_step);
  if (d < stayed_) stayed_ = std::max(d, stayed_ * most_step);
  went_ = std::max(went_, stayed_);
}

std::optional<Tokens> SizeSeen::size() const {
  if (times_gone_ < enough_gone) return std::nullopt;
  return Tokens{static_cast<std::int64_t>((stayed_ + went_) / 2)};
}

void SafetyNet::resident(Tokens expected, Tokens cached, TimePoint now) {
  if (turns_ == 0) window_began_ = now;
  expected_ += static_cast<double>(expected.count);
  cached_ += static_cast<double>(std::min(cached, expected).count);
  ++turns_;
  if (now - window_began_ < window_time) return;
  // What is plainly too much needs fewer turns to be seen.
  if (turns_ >= window_turns || (turns_ >= few_turns && cached_ < plainly_bad_share * expected_)) judge(now);
}

void SafetyNet::judge(TimePoint now) {
  const bool is_bad = cached_ < bad_share * expected_ || preempted_ > bad_preemptions * turns_;
  const bool is_good = cached_ >= good_share * expected_ && preempted_ <= good_preemptions * turns_;
  turns_ = 0;
  expected_ = cached_ = preempted_ = 0;
  if (is_bad) return step_down(now);
  if (is_good && share_ < 1 && now >= may_rise_) step_up(now);
}

// What failed where it had failed before is a known edge: it goes just below it, and waits twice as long before it
// looks again whether there is more. So it settles, and steps become rare.
void SafetyNet::step_down(TimePoint now) {
  if (share_ <= least_share) return void(may_rise_ = now + patience_);
  const bool is_known_edge = steps_down_ > 0 && share_ >= edge_ - 2.5 * rise;
  ++steps_down_;
  steps_up_in_a_row_ = 0;
  patience_ = is_known_edge ? std::min(2 * patience_, most_patience) : first_patience;
  edge_ = share_;
  share_ = std::max(least_share, is_known_edge ? share_ - 2 * rise : share_ * shrink);
  may_rise_ = now + first_patience;
  may_pass_edge_ = now + patience_;
}

void SafetyNet::step_up(TimePoint now) {
  if (share_ + 1.5 * rise > edge_) {
    if (now < may_pass_edge_) return;
    if (++steps_up_in_a_row_ >= enough_steps_up) patience_ = first_patience;
    edge_ = std::min(1.0, edge_ + rise);
  }
  share_ = std::min(1.0, share_ + rise);
  may_rise_ = now + first_patience;
}

std::optional<Tokens> CacheSize::value() const {
  const std::optional<Tokens> whole = told_ ? told_ : seen_.size();
  if (!whole) return std::nullopt;
  return Tokens{static_cast<std::int64_t>(static_cast<double>(whole->count) * net_.share())};
}

}  // namespace wg::fleet
