#include "fleet/heads.h"

#include <gtest/gtest.h>

#include "fleet/test_driver.h"

namespace wg::fleet {

TEST(Heads, ThatBeginLikeOlderOnesAreSoonKnownWhole) {
  Heads heads;
  for (int replica = 0; replica < 4; ++replica) heads.found(key(1), {48});  // all that the older one has in common
  EXPECT_EQ(heads.size(key(1)), Tokens{48});
  heads.found(key(1), {3552});
  heads.found(key(1), {3552});
  EXPECT_EQ(heads.size(key(1)), Tokens{3552});
}

TEST(Heads, OneWildFindMovesLittle) {
  Heads heads;
  heads.found(key(1), {3552});
  heads.found(key(1), {3552});
  heads.found(key(1), {9'000});  // two sessions that said the same
  EXPECT_LE(heads.size(key(1)), Tokens{3'996});
  heads.found(key(1), {100});  // it is being evicted
  EXPECT_GE(heads.size(key(1)), Tokens{3'100});
  heads.found(key(1), {3552});
  heads.found(key(1), {3552});
  EXPECT_EQ(heads.size(key(1)), Tokens{3552});
}

TEST(Heads, AreShownWithTheirSizes) {
  Heads heads;
  for (std::uint64_t n = 1; n <= 3; ++n) heads.found(key(n), {static_cast<std::int64_t>(n) * 1'000});
  std::int64_t sum = 0;
  heads.for_each([&](const SessionKey&, Tokens size) { sum += size.count; });
  EXPECT_EQ(heads.known(), 3u);
  EXPECT_EQ(sum, 6'000);
}

}  // namespace wg::fleet
