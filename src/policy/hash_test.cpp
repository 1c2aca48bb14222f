#include "policy/hash.h"

#include <gtest/gtest.h>

#include "core/rng.h"
#include "policy/test_views.h"

namespace wg::policy {

namespace {
std::vector<SessionKey> many_keys() {
  Rng rng(11);
  std::vector<SessionKey> keys;
  for (int i = 0; i < 4000; ++i) keys.push_back({rng.next(), rng.next()});
  return keys;
}
}  // namespace

TEST(Hash, SameKeySameReplicaWhateverTheLoad) {
  for (const SessionKey& key : many_keys())
    ASSERT_EQ(rendezvous(pool_of({{0}, {0}, {0}, {0}}), key).replica,
              rendezvous(pool_of({{9, 0.9, 9}, {7}, {0}, {3}}), key).replica);
}

TEST(Hash, SpreadsKeysEvenly) {
  std::vector<int> times(4);
  const auto pool = pool_of({{}, {}, {}, {}});
  for (const SessionKey& key : many_keys()) ++times[rendezvous(pool, key).replica];
  for (const int n : times) EXPECT_NEAR(n, 1000, 120);
}

TEST(Hash, OneThatGoesDownMovesOnlyItsOwnSessions) {
  const auto all = pool_of({{}, {}, {}, {}}), without = pool_of({{}, {0, {}, 0, false}, {}, {}});
  for (const SessionKey& key : many_keys()) {
    const ReplicaIndex before = rendezvous(all, key).replica, after = rendezvous(without, key).replica;
    ASSERT_TRUE(after == before || before == 1);
    ASSERT_NE(after, 1u);
  }
}

TEST(Hash, GoesByIdentityNotByIndex) {
  // The same replicas under new indices, as after a restart or after their engine came back: the same choice.
  const auto before = pool_of({{}, {}, {}});
  auto after = before;
  for (ReplicaView& view : after) view.replica += 40;
  for (const SessionKey& key : many_keys())
    ASSERT_EQ(rendezvous(after, key).replica, rendezvous(before, key).replica + 40);
}

TEST(Hash, StaysTheSameAcrossVersions) {
  // A changed hash would move every session at an upgrade.
  const auto pool = pool_of({{}, {}, {}, {}});
  std::string chosen;
  for (std::uint64_t i = 1; i <= 16; ++i) chosen += std::to_string(rendezvous(pool, {i, i * 7}).replica);
  EXPECT_EQ(chosen, "0022022111211331");
}

TEST(Hash, NothingUp) { EXPECT_EQ(rendezvous(pool_of({{0, {}, 0, false}}), {1, 2}).replica, no_replica); }

}  // namespace wg::policy
