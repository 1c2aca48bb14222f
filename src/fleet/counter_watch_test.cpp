#include "fleet/counter_watch.h"

#include <gtest/gtest.h>

namespace wg::fleet {

TEST(CounterWatch, ATurnThatWasAloneIsKnownFromTheDifference) {
  CounterWatch watch;
  watch.look(1'000, 400, false);
  watch.sent(7, false);
  watch.look(1'000, 400, true);  // it has not been read yet
  watch.look(11'000, 9'400, false);
  EXPECT_EQ(watch.cached_of(7, {10'000}), Tokens{9'000});
  EXPECT_EQ(watch.cached_of(8, {10'000}), std::nullopt);
  EXPECT_EQ(watch.cached_of(7, {5'000}), std::nullopt) << "others were looked up too";
}

TEST(CounterWatch, NothingIsSaidOfTurnsThatWereNotAlone) {
  CounterWatch watch;
  watch.sent(1, false);  // before the first look
  watch.look(10'000, 0, false);
  EXPECT_EQ(watch.cached_of(1, {10'000}), std::nullopt);
  watch.sent(2, false);
  watch.sent(3, true);
  watch.look(30'000, 10'000, false);
  EXPECT_EQ(watch.cached_of(2, {10'000}), std::nullopt);
  EXPECT_EQ(watch.cached_of(3, {10'000}), std::nullopt);
  watch.sent(4, false);
  watch.sent(5, false);  // the one before was read already, but in the same interval
  watch.look(50'000, 10'000, false);
  EXPECT_EQ(watch.cached_of(4, {10'000}), std::nullopt);
  EXPECT_EQ(watch.cached_of(5, {10'000}), std::nullopt);
  watch.sent(6, false);
  watch.look(60'000, 15'000, false);
  EXPECT_EQ(watch.cached_of(6, {10'000}), Tokens{5'000}) << "alone again";
}

TEST(CounterWatch, CountersThatBeginAnewAreAnEngineThatHas) {
  CounterWatch watch;
  EXPECT_FALSE(watch.look(10'000, 5'000, false));
  watch.sent(1, false);
  EXPECT_TRUE(watch.look(100, 0, false));
  EXPECT_EQ(watch.cached_of(1, {10'000}), std::nullopt);
  EXPECT_FALSE(watch.look(100, 0, false));
}

TEST(KeepsPrefixes, AsTold) {
  KeepsPrefixes keeps;
  EXPECT_FALSE(keeps.no());
  keeps.tell(false);
  EXPECT_TRUE(keeps.no());
  keeps.tell(true);
  EXPECT_FALSE(keeps.no());
}

TEST(KeepsPrefixes, OrWhenNothingIsEverFound) {
  KeepsPrefixes keeps;
  for (int i = 0; i < 100; ++i) keeps.turn({500}, {});
  EXPECT_FALSE(keeps.no()) << "so little says nothing";
  for (int i = 0; i < 23; ++i) keeps.turn({5'000}, {});
  EXPECT_FALSE(keeps.no());
  keeps.turn({5'000}, {16});
  for (int i = 0; i < 23; ++i) keeps.turn({5'000}, {});
  EXPECT_FALSE(keeps.no()) << "in a row";
  keeps.turn({5'000}, {});
  EXPECT_TRUE(keeps.no());
  keeps.turn({}, {160});
  EXPECT_FALSE(keeps.no()) << "it does after all";
}

}  // namespace wg::fleet
