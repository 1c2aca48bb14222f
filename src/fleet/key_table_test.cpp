#include "fleet/key_table.h"

#include <gtest/gtest.h>

#include <map>

#include "core/rng.h"

namespace wg::fleet {

// Against a map, with keys that lie close together and keys that are hashes.
TEST(KeyTable, DoesWhatAMapDoes) {
  for (const bool close : {true, false}) {
    Rng rng(4);
    KeyTable<int> table;
    std::map<SessionKey, int> wanted;
    std::vector<SessionKey> keys;
    for (std::uint64_t n = 1; n <= 300; ++n) keys.push_back(close ? SessionKey{n, ~n} : SessionKey{rng.next(), n});
    for (int i = 0; i < 50'000; ++i) {
      const SessionKey& key = keys[static_cast<std::size_t>(rng.between(0, 299))];
      if (rng.uniform() < 0.55) {
        table.at_or_new(key) = i;
        wanted[key] = i;
      } else {
        table.erase(key);
        wanted.erase(key);
      }
      ASSERT_EQ(table.size(), wanted.size());
      const SessionKey& other = keys[static_cast<std::size_t>(rng.between(0, 299))];
      const auto found = wanted.find(other);
      const int* const value = table.find(other);
      ASSERT_EQ(value != nullptr, found != wanted.end());
      if (value) {
        ASSERT_EQ(*value, found->second);
      }
    }
  }
}

TEST(KeyTable, TheZeroKeyIsNeverThere) {
  KeyTable<int> table;
  EXPECT_EQ(table.find({}), nullptr);
  table.erase({});
  EXPECT_EQ(table.size(), 0u);
  table.at_or_new({1, 0}) = 5;
  EXPECT_EQ(table.find({}), nullptr);
  EXPECT_EQ(*table.find({1, 0}), 5);
  table.erase({1, 0});
  EXPECT_EQ(table.find({1, 0}), nullptr);
  EXPECT_EQ(table.at_or_new({1, 0}), 0) << "a new one is new";
}

}  // namespace wg::fleet
