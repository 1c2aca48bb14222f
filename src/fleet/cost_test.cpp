// What a decision costs: 64 replicas, 10,000 sessions. Printed; the bound is generous, since test machines are slow and
// shared. Goal: 5 us optimised. The only clock in this room, of processor time; it measures and decides nothing.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "core/rng.h"
#include "fleet/test_driver.h"

namespace wg::fleet {

namespace {
using policy::PolicyName;

// The median over rounds, in microseconds of processor time, of a whole turn's two steps: arrival with its decision,
// and end.
double cost_us(PolicyName policy, bool new_sessions) {
  constexpr int rounds = 41, per_round = 2000;
  Driver d(16, 4, policy);
  for (EngineIndex e = 0; e < 16; ++e)
    for (std::uint32_t rank = 0; rank < 4; ++rank) d.step(ReplicaSampled{e, rank, 2, 1, 0.4});
  for (std::uint64_t s = 1; s <= 10'000; ++s) d.turn(s);
  Rng rng(3);
  std::uint64_t next = 20'000;
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    std::vector<RequestArrived> arrivals(per_round);
    for (RequestArrived& event : arrivals) {
      event.request = ++d.last_request;
      event.session = key(new_sessions ? next++ : static_cast<std::uint64_t>(rng.between(1, 10'000)));
    }
    const auto start = std::clock();
    for (const RequestArrived& event : arrivals) {
      d.fleet.step(event, d.now);
      d.fleet.step(Finished{event.request, Outcome::ok}, d.now);
    }
    times.push_back(std::chrono::duration<double, std::micro>(std::clock() - start).count() / per_round);
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}
}  // namespace

TEST(Cost, OfADecision) {
  for (const PolicyName policy :
       {PolicyName::off, PolicyName::round_robin, PolicyName::least, PolicyName::hash, PolicyName::sticky}) {
    for (const bool new_sessions : {false, true}) {
      const double us = cost_us(policy, new_sessions);
      std::printf("decision and end, 64 replicas, 10,000 sessions, %-11s %-14s %6.2f us\n",
                  std::string(name_of(policy)).c_str(), new_sessions ? "new sessions:" : "known ones:", us);
      EXPECT_LT(us, 200) << "far from the goal of 5";
    }
  }
}

}  // namespace wg::fleet
