#include "fleet/learnt.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wg::fleet {

namespace {
constexpr double hit_share = 0.8;         // cached of the prompt, to count as a hit
constexpr std::int64_t least_output = 8;  // tokens, to tell the time between them
}  // namespace

void InterToken::add(double beside, double seconds) {
  constexpr double forget = 0.98;
  weight_ = forget * weight_ + 1;
  x_ = forget * x_ + beside;
  y_ = forget * y_ + seconds;
  xx_ = forget * xx_ + beside * beside;
  xy_ = forget * xy_ + beside * seconds;
  const double mean_x = x_ / weight_, mean_y = y_ / weight_;
  const double spread = xx_ / weight_ - mean_x * mean_x, together = xy_ / weight_ - mean_x * mean_y;
  // Where it is always the same number that are in flight, the line cannot be seen: a twentieth is a usual slope.
  const double usual = mean_y / 20;
  each_more_s_ = std::clamp(spread > 0.05 ? together / spread : usual, 0.0, mean_x > 0 ? mean_y / mean_x : usual);
  alone_s_ = std::max(0.0, mean_y - each_more_s_ * mean_x);
}

void Learnt::add(const TurnSeen& turn, const policy::PrefillFit* all, InterToken* all_tokens) {
  const Tokens uncached = turn.prompt - turn.cached;
  const bool has_first = turn.first_content_s > 0;
  if (turn.cached_measured && turn.clean && has_first) fit_.add(uncached, turn.cached, turn.first_content_s, all);
  if (turn.output.count > 0) output_.add(static_cast<double>(turn.output.count));
  if (has_first && turn.output.count >= least_output) {
    const double between = (turn.whole_s - turn.first_content_s) / static_cast<double>(turn.output.count - 1);
    // Tokens that were held up by a slow reader and came at once are no speed.
    if (between > 1e-5) inter_token_.add(turn.beside, between), all_tokens->add(turn.beside, between);
  }
  if (!turn.cached_measured) return;
  if (turn.cached.count > 0) step_ = std::gcd(step_, turn.cached.count);
  if (static_cast<double>(turn.cached.count) < hit_share * static_cast<double>(turn.prompt.count)) return;
  const double usual = hit_service_.value_or(turn.whole_s);
  hit_service_.add(std::min(turn.whole_s, 4 * usual));
}

double Learnt::decode_s() const { return inter_token_.alone_s() * output_.value_or(0); }

double Learnt::turn_s() const { return hit_service_.value_or(fit_.model().base_s + decode_s()); }

}  // namespace wg::fleet
