#include "policy/break_even.h"

#include <algorithm>
#include <cmath>

namespace wg::policy {

double break_even_s(const ServiceFacts& facts) {
  double even = std::max(facts.residents, 1.0) * facts.reread_s;
  even -= rotations_paid * facts.reread_s / std::max(facts.quantum, 1.0);
  if (facts.hit_service_s > 0) even += facts.decode_s - facts.hit_service_s;
  return std::max(least_break_even_s, even);
}

double wait_without_seats_s(const ServiceFacts& facts, double sessions, double pause_s) {
  const double each = facts.reread_s + facts.decode_s / std::max(facts.residents, 1.0);
  const double turn = facts.hit_service_s > 0 ? facts.hit_service_s : facts.decode_s;
  return std::max(0.0, sessions * each - turn - pause_s);
}

double hold_s(double break_even, double expected_gap_s) {
  const double gap = std::max(expected_gap_s, 0.01), to_spare = std::max(break_even / gap - 1, 0.0);
  return std::min(break_even, least_hold_s + gap * std::log1p(turns_ahead * to_spare));
}

}  // namespace wg::policy
