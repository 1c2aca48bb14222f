#include "sim/block_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "core/rng.h"

namespace wg::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ids = std::vector<BlockId>;

Ids take(BlockCache& cache, std::size_t count) {
  Ids ids;
  cache.take(count, ids);
  return ids;
}

Ids find(const BlockCache& cache, std::vector<BlockHash> chain, std::size_t limit = 99) {
  Ids ids;
  cache.find_prefix(chain, limit, ids);
  return ids;
}

TEST(BlockCache, TheNullBlockIsNeverHandedOut) {
  BlockCache cache(6);
  EXPECT_EQ(cache.usable(), 5u);
  EXPECT_THAT(cache.free_list(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(take(cache, 5), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(cache.free(), 0u);
  EXPECT_DOUBLE_EQ(cache.usage(), 1.0);
}

TEST(BlockCache, TailGoesFirstAndUnhashedToTheFront) {
  BlockCache cache(6);
  const Ids ids = take(cache, 3);
  cache.enter(1, 11);
  cache.enter(2, 12);  // 3 is the partial last block
  cache.release(ids);
  EXPECT_THAT(cache.free_list(), ElementsAre(3, 4, 5, 2, 1));
  EXPECT_EQ(cache.removed(), 0u);
}

TEST(BlockCache, SeveralUnhashedBlocksAreTakenLastFirst) {
  BlockCache cache(6);
  cache.release(take(cache, 3));
  EXPECT_THAT(cache.free_list(), ElementsAre(3, 2, 1, 4, 5));
}

TEST(BlockCache, AHitIsTakenOffTheFreeListWhereverItIs) {
  BlockCache cache(6);
  const Ids ids = take(cache, 2);
  cache.enter(1, 11);
  cache.enter(2, 12);
  cache.release(ids);
  ASSERT_THAT(cache.free_list(), ElementsAre(3, 4, 5, 2, 1));
  const Ids hit = find(cache, {11, 12, 13});
  ASSERT_THAT(hit, ElementsAre(1, 2));
  EXPECT_EQ(cache.free_among(hit), 2u);
  cache.hold(hit);
  EXPECT_THAT(cache.free_list(), ElementsAre(3, 4, 5));
  cache.hold(hit);
  EXPECT_EQ(cache.holders(1), 2u);
  cache.release(hit);
  EXPECT_THAT(cache.free_list(), ElementsAre(3, 4, 5)) << "somebody still holds them";
  cache.release(hit);
  EXPECT_THAT(cache.free_list(), ElementsAre(3, 4, 5, 2, 1));
}

TEST(BlockCache, TakingABlockWithContentEvictsIt) {
  BlockCache cache(4);
  const Ids ids = take(cache, 3);
  for (BlockId i = 1; i <= 3; ++i) cache.enter(i, 10 + i);
  cache.release(ids);
  EXPECT_THAT(take(cache, 1), ElementsAre(3)) << "the tail";
  EXPECT_EQ(cache.removed(), 1u);
  EXPECT_THAT(find(cache, {11, 12, 13}), ElementsAre(1, 2));
}

TEST(BlockCache, AnEvictedMiddleMakesTheRestUnreachable) {
  BlockCache cache(5);
  const Ids first = take(cache, 2), second = take(cache, 1);
  cache.enter(1, 11);
  cache.enter(2, 12);
  cache.enter(3, 13);
  cache.release(Ids{2});  // the middle block is free before the others
  cache.release(Ids{1, 3});
  ASSERT_THAT(cache.free_list(), ElementsAre(4, 2, 3, 1));
  take(cache, 2);
  EXPECT_THAT(find(cache, {11, 12, 13}), ElementsAre(1));
  EXPECT_TRUE(cache.has_content(3)) << "still resident, only out of reach";
}

TEST(BlockCache, EqualContentInTwoBlocksLeavesOneAfterAnEviction) {
  BlockCache cache(5);
  take(cache, 3);
  cache.enter(1, 11);
  cache.enter(2, 11);
  cache.enter(3, 11);
  EXPECT_THAT(find(cache, {11}), ElementsAre(1)) << "the oldest";
  cache.release(Ids{1});
  take(cache, 2);
  EXPECT_EQ(cache.removed(), 1u);
  EXPECT_THAT(find(cache, {11}), ElementsAre(2));
  cache.release(Ids{3});
  cache.release(Ids{2});
  take(cache, 2);
  EXPECT_THAT(find(cache, {11}), IsEmpty());
  EXPECT_EQ(cache.stored(), 3u);
  EXPECT_EQ(cache.removed(), 3u);
}

TEST(BlockCache, LookupStopsAtItsLimit) {
  BlockCache cache(5);
  take(cache, 2);
  cache.enter(1, 11);
  cache.enter(2, 12);
  EXPECT_THAT(find(cache, {11, 12}, 1), ElementsAre(1));
  EXPECT_THAT(find(cache, {11, 12}, 0), IsEmpty());
}

TEST(BlockCache, ForgetsAllOnlyWhenNothingIsHeld) {
  BlockCache cache(4);
  const Ids ids = take(cache, 2);
  cache.enter(1, 11);
  EXPECT_FALSE(cache.forget_all());
  EXPECT_THAT(find(cache, {11}), ElementsAre(1));
  cache.release(ids);
  EXPECT_TRUE(cache.forget_all());
  EXPECT_THAT(find(cache, {11}), IsEmpty());
  take(cache, 3);
  EXPECT_EQ(cache.removed(), 0u) << "forgotten is not evicted";
}

// The same rules written naively, to compare with after every operation.
struct NaiveCache {
  explicit NaiveCache(BlockId blocks) : holders(blocks), hash(blocks) {
    for (BlockId i = 1; i < blocks; ++i) free.push_back(i);
  }
  Ids find(const std::vector<BlockHash>& chain) const {
    Ids found;
    for (const BlockHash h : chain) {
      const auto at = entered.find(h);
      if (at == entered.end()) break;
      found.push_back(at->second.front());
    }
    return found;
  }
  void hold(const Ids& ids) {
    for (const BlockId id : ids)
      if (holders[id]++ == 0) free.erase(std::ranges::find(free, id));
  }
  Ids take(std::size_t count) {
    Ids ids;
    for (; count > 0; --count) {
      const BlockId id = free.front();
      free.pop_front();
      if (hash[id] != 0) {
        auto& same = entered[hash[id]];
        same.erase(std::ranges::find(same, id));
        if (same.empty()) entered.erase(hash[id]);
        hash[id] = 0;
        ++removed;
      }
      holders[id] = 1;
      ids.push_back(id);
    }
    return ids;
  }
  void enter(BlockId id, BlockHash h) {
    hash[id] = h;
    entered[h].push_back(id);
  }
  void release(const Ids& ids) {
    Ids first, last;
    for (auto id = ids.rbegin(); id != ids.rend(); ++id)
      if (--holders[*id] == 0) (hash[*id] == 0 ? first : last).push_back(*id);
    free.insert(free.begin(), first.begin(), first.end());
    free.insert(free.end(), last.begin(), last.end());
  }

  std::deque<BlockId> free;
  std::vector<std::uint32_t> holders;
  std::vector<BlockHash> hash;
  std::map<BlockHash, Ids> entered;
  std::uint64_t removed = 0;
};

// Random requests over few distinct prefixes, so that hits, equal content and evictions all happen.
void compare_with_naive(std::uint64_t seed) {
  Rng rng(seed);
  const auto blocks = static_cast<std::uint32_t>(rng.between(4, 40));
  BlockCache cache(blocks);
  NaiveCache naive(blocks);
  std::vector<Ids> held;
  for (int step = 0; step < 400; ++step) {
    if (held.empty() || rng.uniform() < 0.55) {
      std::vector<BlockHash> chain;
      BlockHash name = static_cast<BlockHash>(rng.between(1, 4));
      for (std::int64_t i = rng.between(0, 6); i > 0; --i) {
        name = name * 10 + static_cast<BlockHash>(rng.between(1, 2));
        chain.push_back(name * 64);  // many share their low bits: collisions in the index
      }
      Ids ids = find(cache, chain);
      ASSERT_EQ(ids, naive.find(chain));
      if (!ids.empty() && rng.uniform() < 0.3) ids.pop_back();  // as for a prompt that is cached to its end
      const std::size_t need = chain.size() - ids.size() + static_cast<std::size_t>(rng.between(0, 1));
      if (need + cache.free_among(ids) > cache.free()) continue;
      cache.hold(ids);
      naive.hold(ids);
      const std::size_t hits = ids.size();
      cache.take(need, ids);
      ASSERT_EQ(Ids(ids.begin() + static_cast<std::ptrdiff_t>(hits), ids.end()), naive.take(need));
      for (std::size_t i = hits; i < chain.size(); ++i) {
        cache.enter(ids[i], chain[i]);
        naive.enter(ids[i], chain[i]);
      }
      held.push_back(ids);
    } else {
      const auto which = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(held.size()) - 1));
      cache.release(held[which]);
      naive.release(held[which]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    const Ids free = cache.free_list();
    ASSERT_TRUE(std::ranges::equal(free, naive.free));
    ASSERT_EQ(free.size(), cache.free());
    ASSERT_EQ(cache.removed(), naive.removed);
    for (BlockId id = 1; id < blocks; ++id) {
      ASSERT_EQ(cache.holders(id), naive.holders[id]);
      ASSERT_EQ(cache.has_content(id), naive.hash[id] != 0);
    }
  }
}

TEST(BlockCache, AgreesWithANaiveOneOnRandomUse) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    compare_with_naive(seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace wg::sim
