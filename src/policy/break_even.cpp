#include "policy/break_even.h"

#include <algorithm>

namespace wg::policy {

double break_even_s(const ServiceFacts& facts) {
  double even = std::max(facts.residents, 1.0) * facts.reread_s;
  even -= rotations_paid * facts.reread_s / std::max(facts.quantum, 1.0);
  if (facts.hit_service_s > 0) even += facts.decode_s - facts.hit_service_s;
  return std::max(least_break_even_s, even);
}

double hold_s(double break_even, double expected_gap_s) { return std::min(break_even, 0.5 + 4 * expected_gap_s); }

}  // namespace wg::policy
