#include "policy/prefill_fit.h"

#include <algorithm>
#include <cmath>

namespace wg::policy {

namespace {
constexpr double forget = 0.99;  // the memory of about 100 samples
// Of a sample's, for each term; it fades with the first few. Where prompts are all of a size the terms cannot be told
// apart: a rate is then more believable than an unusual attention.
constexpr std::array<double, 3> prior_weights{0.3, 0.3, 100};
constexpr double like_it_weight = 5;  // samples that all of the fleet's count as
constexpr double least_error = 0.05;
constexpr double forget_shortest = 1.002;
constexpr double kilo = 1e3, mega = 1e6;

using Row = std::array<double, 3>;

// In thousands of tokens and millions of pairs, so that the three are of like size.
Row features(Tokens uncached, Tokens cached) {
  const double n = static_cast<double>(std::max<std::int64_t>(uncached.count, 0));
  const double c = static_cast<double>(std::max<std::int64_t>(cached.count, 0));
  return {1, n / kilo, n * (c + n / 2) / mega};
}

// Cramer's rule on the terms that are in use; the others stay 0. False: the equations say nothing.
bool solved(const std::array<Row, 3>& m, const Row& t, const std::array<bool, 3>& used, Row& x) {
  std::array<Row, 3> a{};
  Row b{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) a[i][j] = used[i] && used[j] ? m[i][j] : (i == j ? 1.0 : 0.0);
    b[i] = used[i] ? t[i] : 0;
  }
  const auto det = [](const std::array<Row, 3>& d) {
    return d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) - d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0]) +
           d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
  };
  const double whole = det(a);
  if (!std::isfinite(whole) || std::abs(whole) < 1e-12) return false;
  for (std::size_t column = 0; column < 3; ++column) {
    std::array<Row, 3> swapped = a;
    for (std::size_t i = 0; i < 3; ++i) swapped[i][column] = b[i];
    x[column] = det(swapped) / whole;
  }
  return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}
}  // namespace

void PrefillFit::add(Tokens uncached, Tokens cached, double seconds, const PrefillFit* like_it) {
  if (!std::isfinite(seconds) || seconds < 0 || uncached.count <= 0) return;
  // As a share of what was predicted: a long reading may be wrong by more than a short one.
  const double predicted = std::max(prefill_s(model_, uncached, cached), 0.1);
  const double error = std::abs(seconds - predicted) / predicted;
  // Half of the errors are below the typical one, however large the others are.
  const double bound = 3 * error_;
  const double weight = samples_ >= 4 && error > bound ? bound / error : 1;
  error_ = std::max(least_error, error_ * (error > error_ ? 1.1 : 1 / 1.1));
  shortest_s_ = samples_ == 0 ? seconds : std::min(seconds, shortest_s_ * forget_shortest);
  ++samples_;

  const Row x = features(uncached, cached);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) moments_[i][j] = forget * moments_[i][j] + weight * x[i] * x[j];
    targets_[i] = forget * targets_[i] + weight * x[i] * seconds;
  }
  weights_ = forget * weights_ + weight;
  solve(like_it);
}

void PrefillFit::solve(const PrefillFit* like_it) {
  std::array<Row, 3> m = moments_;
  Row t = targets_;
  const Row prior{prior_.base_s, prior_.token_s * kilo, prior_.attention_s * mega};
  const bool has_like = like_it && like_it->weights_ > 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (has_like) {
      const double share = like_it_weight / like_it->weights_;
      for (std::size_t j = 0; j < 3; ++j) m[i][j] += share * like_it->moments_[i][j];
      t[i] += share * like_it->targets_[i];
    }
    m[i][i] += prior_weights[i], t[i] += prior_weights[i] * prior[i];
  }
  // A term that comes out negative is noise: it is left out, attention first.
  Row x{};
  std::array<bool, 3> used{true, true, true};
  const auto fits = [&] { return x[0] >= 0 && x[1] > 0 && x[2] >= 0; };
  for (const std::size_t leave_out : {2u, 0u, 1u}) {
    if (!solved(m, t, used, x)) return;
    if (fits()) break;
    used[leave_out] = false;
  }
  if (fits() && x[0] > shortest_s_) {
    // Delays look like a high base: with it known, the rest is solved again.
    for (std::size_t i = 1; i < 3; ++i) t[i] -= m[i][0] * shortest_s_;
    used[0] = false;
    if (!solved(m, t, used, x)) return;
    x[0] = shortest_s_;
  }
  if (fits()) model_ = {x[0], x[1] / kilo, x[2] / mega};
}

}  // namespace wg::policy
