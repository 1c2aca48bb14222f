#include "fleet/ledger.h"

#include <gtest/gtest.h>

#include "core/rng.h"
#include "fleet/test_driver.h"

namespace wg::fleet {

namespace {
void use(Ledger& ledger, std::uint64_t copy, std::int64_t size) {
  ledger.take(key(copy), {size});
  ledger.give_back(key(copy), {size});
}
}  // namespace

TEST(Ledger, TheLeastRecentlyUsedGoesFirstAndOfItTheTail) {
  Ledger ledger;
  ledger.set_capacity(Tokens{100});
  use(ledger, 1, 40);
  use(ledger, 2, 40);
  use(ledger, 3, 40);
  EXPECT_EQ(ledger.held(key(1)).count, 20);
  EXPECT_EQ(ledger.held(key(2)).count, 40);
  use(ledger, 1, 40);  // it is the latest again
  EXPECT_EQ(ledger.held(key(2)).count, 20);
  EXPECT_EQ(ledger.total().count, 100);
}

TEST(Ledger, WhatIsInUseCannotGo) {
  Ledger ledger;
  ledger.set_capacity(Tokens{100});
  ledger.take(key(1), {80});
  ledger.take(key(2), {80});
  EXPECT_EQ(ledger.held(key(1)).count, 80);
  EXPECT_EQ(ledger.total().count, 160) << "an engine makes one of them wait; it is not for us to say which";
  ledger.give_back(key(1), {80});
  EXPECT_EQ(ledger.held(key(1)).count, 20);
}

TEST(Ledger, TwoUsersOfOneCopy) {
  Ledger ledger;
  ledger.take(key(1), {50});
  ledger.take(key(1), {60});
  ledger.give_back(key(1), {55});
  EXPECT_EQ(ledger.last_use(key(1)), 0u) << "still in use";
  ledger.give_back(key(1), {62});
  EXPECT_EQ(ledger.held(key(1)).count, 62);
}

TEST(Ledger, AMissTakesWhatIsOlderWithIt) {
  Ledger ledger;
  for (const std::uint64_t copy : {1, 2, 3}) use(ledger, copy, 10);
  ledger.drop_older_than(ledger.last_use(key(2)));
  EXPECT_EQ(ledger.held(key(1)).count, 0);
  EXPECT_EQ(ledger.held(key(2)).count, 10);
  EXPECT_EQ(ledger.held(key(3)).count, 10);
}

TEST(Ledger, RandomUseKeepsItsSums) {
  BugWatch bugs;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    Ledger ledger;
    ledger.set_capacity(Tokens{1000});
    std::vector<std::uint64_t> in_use;
    for (int i = 0; i < 2000; ++i) {
      if (in_use.size() < 5 && rng.uniform() < 0.6) {
        in_use.push_back(static_cast<std::uint64_t>(rng.between(1, 30)));
        ledger.take(key(in_use.back()), {rng.between(-5, 300)});
      } else if (!in_use.empty()) {
        ledger.give_back(key(in_use.back()), {rng.between(-5, 300)});
        in_use.pop_back();
      }
      if (rng.uniform() < 0.05) ledger.drop_older_than(static_cast<std::uint64_t>(rng.between(0, i)));
      std::int64_t sum = 0;
      for (std::uint64_t copy = 1; copy <= 30; ++copy) {
        ASSERT_GE(ledger.held(key(copy)).count, 0);
        sum += ledger.held(key(copy)).count;
      }
      ASSERT_EQ(sum, ledger.total().count);
      if (in_use.empty()) {
        ASSERT_LE(sum, 1000);
      }
    }
  }
  EXPECT_EQ(bugs.seen(), 0u);
}

TEST(Ledger, DepthIsWhatACacheMustHoldForACopyToBeThere) {
  Ledger ledger;
  for (const std::uint64_t copy : {1, 2, 3, 4}) use(ledger, copy, 10);
  EXPECT_EQ(ledger.depth(key(4)), Tokens{10});
  EXPECT_EQ(ledger.depth(key(1)), Tokens{40});
  EXPECT_EQ(ledger.depth(key(9)), std::nullopt);
  ledger.take(key(2), {25});
  EXPECT_EQ(ledger.depth(key(2)), std::nullopt) << "in use";
  EXPECT_EQ(ledger.depth(key(1)), Tokens{55}) << "what is in use is part of it";
  EXPECT_EQ(ledger.depth(key(3)), Tokens{45});
  ledger.forget_idle();
  EXPECT_EQ(ledger.total(), Tokens{25});
  EXPECT_EQ(ledger.held(key(3)), Tokens{});
  ledger.give_back(key(2), {25});
  EXPECT_EQ(ledger.depth(key(2)), Tokens{25});
}

TEST(Ledger, AFloodOfTinyCopiesIsBounded) {
  Ledger ledger;  // nobody told a capacity
  for (std::uint64_t copy = 1; copy <= 50'000; ++copy) use(ledger, copy, 10);
  EXPECT_LE(ledger.copies(), 4'096u);
  EXPECT_EQ(ledger.total().count, 10 * static_cast<std::int64_t>(ledger.copies()));
  EXPECT_EQ(ledger.depth(key(50'000 - 600)), std::nullopt) << "so deep nobody looks";
}

}  // namespace wg::fleet
