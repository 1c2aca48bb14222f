#include "fleet/cache_size.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/rng.h"

namespace wg::fleet {

using namespace std::chrono_literals;

namespace {
// A replica whose cache really keeps `truth` of what was told: residents whose seats take more lose some of it.
struct Plant {
  SafetyNet net;
  TimePoint now{1s};
  std::vector<double> shares;        // at the end of each minute
  std::vector<std::uint64_t> downs;  // steps down by then

  // A turn each second; `blur`: how far from the edge chance decides.
  void run(double truth, Duration time, Rng& rng, double blur = 0.02) {
    const TimePoint end = now + time;
    while (now < end) {
      now += 1s;
      const double over = net.share() - truth + (rng.uniform() * 2 - 1) * blur;
      // The cache is a stack: a working set that exceeds it a little already loses most of what comes next.
      net.resident({10'000}, Tokens{over > 0 ? 3'500 : 9'900}, now);
      if (now.time_since_epoch() % 60s != 0s) continue;
      shares.push_back(net.share());
      downs.push_back(net.steps_down());
    }
  }
};
}  // namespace

TEST(SafetyNet, DoesNothingWhileResidentsFindWhatTheyShould) {
  Rng rng(1);
  Plant plant;
  plant.run(1.2, 2h, rng);
  EXPECT_EQ(plant.net.share(), 1);
  EXPECT_EQ(plant.net.steps_down(), 0u);
}

TEST(SafetyNet, ShrinksStepByStepToWhatThereIs) {
  Rng rng(1);
  Plant plant;
  plant.run(0.6, 10min, rng);
  EXPECT_LT(plant.net.share(), 0.64);
  EXPECT_GT(plant.net.share(), 0.45);
  EXPECT_LE(plant.net.steps_down(), 8u);
}

TEST(SafetyNet, RecoversSlowlyWhenAllIsWell) {
  Rng rng(1);
  Plant plant;
  plant.run(0.5, 20min, rng);
  plant.run(1.5, 15min, rng);
  EXPECT_LT(plant.net.share(), 1) << "not at once";
  plant.run(1.5, 60min, rng);
  EXPECT_EQ(plant.net.share(), 1);
}

TEST(SafetyNet, ItHasABottom) {
  Rng rng(1);
  Plant plant;
  plant.run(0.01, 3h, rng);
  EXPECT_DOUBLE_EQ(plant.net.share(), SafetyNet::least_share);
}

TEST(SafetyNet, PreemptionsCountToo) {
  SafetyNet net;
  TimePoint now{1s};
  for (int i = 0; i < 40; ++i) {
    net.preempted(0.8);
    net.resident({10'000}, {10'000}, now += 1s);
  }
  EXPECT_LT(net.share(), 1);
  SafetyNet calm;
  for (int i = 0; i < 400; ++i) {
    calm.preempted(0.05);
    calm.resident({10'000}, {10'000}, now += 1s);
  }
  EXPECT_EQ(calm.share(), 1) << "a few are usual: an answer grew longer than expected";
}

TEST(SafetyNet, OneWildTurnIsNoReason) {
  SafetyNet net;
  TimePoint now{1s};
  for (int i = 0; i < 400; ++i) net.resident({10'000}, Tokens{i % 20 == 0 ? 0 : 10'000}, now += 1s);
  EXPECT_EQ(net.share(), 1);
}

// Whatever the truth is: it settles near it, steps become rare, and it stays within its bounds.
TEST(SafetyNetProperty, SettlesAndDoesNotSwing) {
  EXPECT_TRUE(rc::check("for any truth", [] {
    const double truth = 0.3 + 0.01 * *rc::gen::inRange(0, 90);
    Rng rng(*rc::gen::arbitrary<std::uint64_t>());
    Plant plant;
    plant.run(truth, 6h, rng, 0.01 * *rc::gen::inRange(0, 5));
    for (const double share : plant.shares) RC_ASSERT(share >= SafetyNet::least_share && share <= 1);
    const auto downs_in_hour = [&](std::size_t hour) {
      return plant.downs[60 * hour + 59] - (hour > 0 ? plant.downs[60 * hour - 1] : 0);
    };
    RC_ASSERT(downs_in_hour(0) <= 14u);
    for (std::size_t hour = 2; hour < 6; ++hour) RC_ASSERT(downs_in_hour(hour) <= 4u);
    const double wanted = std::min(truth, 1.0);
    std::size_t near = 0;
    for (std::size_t minute = 60; minute < plant.shares.size(); ++minute) {
      RC_ASSERT(plant.shares[minute] <= std::max(wanted, SafetyNet::least_share) + 0.12);
      near += plant.shares[minute] >= wanted - 0.15;
    }
    RC_ASSERT(near * 10 >= (plant.shares.size() - 60) * 9);
  }));
}

namespace {
// Copies of random depth in a cache of `size` tokens, as a ledger sees them.
SizeSeen seen_of(std::int64_t size, int turns, Rng& rng, double wild = 0) {
  SizeSeen seen;
  for (int i = 0; i < turns; ++i) {
    const std::int64_t depth = rng.between(1'000, 4 * size);
    const bool lies = rng.uniform() < wild;
    (depth <= size) != lies ? seen.found({depth}) : seen.gone({depth});
  }
  return seen;
}
}  // namespace

TEST(SizeSeen, NothingIsSaidBeforeAnythingWasGone) {
  SizeSeen seen;
  for (int i = 0; i < 100; ++i) seen.found({10'000});
  EXPECT_FALSE(seen.size());
  seen.gone({40'000});
  EXPECT_FALSE(seen.size()) << "one alone can be a client's edit";
}

TEST(SizeSeen, ComesNearTheTruth) {
  for (const std::int64_t size : {4'000, 34'000, 150'000, 1'000'000}) {
    Rng rng(3);
    const auto learnt = seen_of(size, 400, rng).size();
    ASSERT_TRUE(learnt);
    EXPECT_GT(learnt->count, size * 8 / 10);
    EXPECT_LT(learnt->count, size * 12 / 10);
  }
}

TEST(SizeSeen, OneWildSampleMovesItLittle) {
  Rng rng(3);
  SizeSeen seen = seen_of(34'000, 400, rng);
  const auto before = seen.size()->count;
  seen.gone({10});
  EXPECT_GT(seen.size()->count, before * 8 / 10);
}

TEST(SizeSeen, FollowsACacheThatShrinksAndGrows) {
  Rng rng(3);
  SizeSeen seen = seen_of(100'000, 400, rng);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t depth = rng.between(1'000, 120'000);
    depth <= 50'000 ? seen.found({depth}) : seen.gone({depth});
  }
  EXPECT_LT(seen.size()->count, 60'000);
  // Seats keep it from seeing deeper than what it believes; it finds out all the same.
  for (int i = 0; i < 4'000; ++i) seen.found({seen.size()->count * rng.between(50, 100) / 100});
  EXPECT_GT(seen.size()->count, 80'000);
}

TEST(CacheSize, WhatIsToldCountsAndTheNetTakesItsShare) {
  CacheSize size;
  EXPECT_FALSE(size.value());
  size.tell(Tokens{34'000});
  EXPECT_EQ(size.value(), Tokens{34'000});
  EXPECT_FALSE(size.is_learnt());
  TimePoint now{1s};
  for (int i = 0; i < 40; ++i) size.net().resident({10'000}, {1'000}, now += 1s);
  EXPECT_LT(size.value()->count, 34'000);
  size.tell(std::nullopt);
  EXPECT_FALSE(size.value());
  for (int i = 0; i < 8; ++i) size.seen().gone({20'000});
  EXPECT_TRUE(size.is_learnt());
  EXPECT_LT(size.value()->count, 20'000) << "the net is for learnt ones too";
}

}  // namespace wg::fleet
