#include <gtest/gtest.h>

#include <string>

#include "core/bounded_map.h"
#include "core/hash.h"
#include "core/rng.h"

namespace wg {

TEST(BoundedMap, NeverGrowsPastItsLimit) {
  BoundedMap<int, int> map(8);
  for (int i = 0; i < 1000; ++i) map.put(i, i);
  EXPECT_EQ(map.size(), 8u);
  EXPECT_NE(map.peek(999), nullptr);
  EXPECT_EQ(map.peek(0), nullptr);
}

TEST(BoundedMap, FloodOfOneTimeEntriesLeavesUsedOnesIntact) {
  BoundedMap<int, std::string> map(100);
  for (int i = 0; i < 50; ++i) {
    map.put(i, "living");
    map.touch(i);
  }
  for (int i = 1000; i < 100'000; ++i) map.put(i, "once");
  for (int i = 0; i < 50; ++i) EXPECT_NE(map.peek(i), nullptr) << i;
}

TEST(BoundedMap, TellsWhoIsEvicted) {
  BoundedMap<int, int> map(2);
  map.put(1, 10);
  map.put(2, 20);
  map.touch(1);
  int gone = 0;
  map.put(3, 30, [&](int key, int) { gone = key; });
  EXPECT_EQ(gone, 2);
}

TEST(BoundedMap, LimitOfOneWorks) {
  BoundedMap<int, int> map(1);
  map.put(1, 1);
  map.touch(1);
  map.put(2, 2);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_NE(map.peek(2), nullptr);
}

TEST(KeyHasher, PartsDoNotRunTogether) {
  const SessionKey one = KeyHasher().add("ab").add("c").finish(), two = KeyHasher().add("a").add("bc").finish();
  EXPECT_NE(one, two);
  EXPECT_EQ(one, KeyHasher().add("ab").add("c").finish());
  EXPECT_EQ(one.short_hex().size(), 12u);
}

TEST(Rng, SameSeedSameNumbers) {
  Rng one(7), two(7), other(8);
  for (int i = 0; i < 100; ++i) {
    const auto value = one.next();
    EXPECT_EQ(value, two.next());
    EXPECT_NE(value, other.next());
  }
  for (int i = 0; i < 1000; ++i) {
    const auto value = one.between(3, 5);
    EXPECT_GE(value, 3);
    EXPECT_LE(value, 5);
  }
}

}  // namespace wg
