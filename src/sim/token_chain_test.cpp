#include "sim/token_chain.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/rng.h"

namespace wg::sim {
namespace {

std::vector<TokenId> counting(TokenId first, std::size_t count) {
  std::vector<TokenId> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<BlockHash> hashes(const TokenChain& chain) {
  return {chain.full_blocks().begin(), chain.full_blocks().end()};
}

TEST(TokenChain, OnlyFullBlocksHaveAHash) {
  TokenChain chain(4);
  chain.append(counting(1, 3));
  EXPECT_EQ(chain.full_blocks().size(), 0u);
  EXPECT_EQ(chain.tail().size(), 3u);
  chain.append(4);
  EXPECT_EQ(chain.full_blocks().size(), 1u);
  EXPECT_TRUE(chain.tail().empty());
  EXPECT_EQ(chain.size(), Tokens{4});
}

TEST(TokenChain, HowItWasAppendedDoesNotMatter) {
  Rng rng(7);
  const std::vector<TokenId> all = counting(100, 1000);
  TokenChain whole(16);
  whole.append(all);
  for (int round = 0; round < 50; ++round) {
    TokenChain pieces(16);
    for (std::size_t at = 0; at < all.size();) {
      const auto count = std::min<std::size_t>(static_cast<std::size_t>(rng.between(1, 70)), all.size() - at);
      pieces.append(std::span(all).subspan(at, count));
      at += count;
    }
    ASSERT_EQ(hashes(pieces), hashes(whole));
    ASSERT_EQ(pieces.size(), whole.size());
  }
}

TEST(TokenChain, AHashNamesTheWholePrefix) {
  TokenChain a(4), b(4);
  a.append(counting(1, 8));
  b.append(9);
  b.append(counting(2, 7));
  EXPECT_NE(a.full_blocks()[0], b.full_blocks()[0]);
  EXPECT_NE(a.full_blocks()[1], b.full_blocks()[1]) << "equal tokens after another beginning";
}

TEST(TokenChain, SaltAndBlockSizeSeparate) {
  TokenChain plain(4), salted(4, 1);
  plain.append(counting(1, 4));
  salted.append(counting(1, 4));
  EXPECT_NE(plain.full_blocks()[0], salted.full_blocks()[0]);
}

TEST(TokenChain, MadeUpTextContinuesWhereItStopped) {
  TokenChain at_once(16), in_two(16), other(16);
  at_once.append_made_up(5, 0, 100);
  in_two.append_made_up(5, 0, 37);
  in_two.append_made_up(5, 37, 63);
  other.append_made_up(6, 0, 100);
  EXPECT_EQ(hashes(at_once), hashes(in_two));
  EXPECT_NE(hashes(at_once), hashes(other));
}

TEST(TokenChain, TruncatedItGoesOnAsIfTheRestHadNeverBeen) {
  for (const std::size_t blocks : {0u, 2u, 6u}) {
    TokenChain cut(16, 3), plain(16, 3);
    cut.append_made_up(5, 0, 103);
    cut.truncate(blocks);
    EXPECT_EQ(cut.size().count, static_cast<std::int64_t>(16 * blocks));
    plain.append_made_up(5, 0, 16 * blocks);
    cut.append_made_up(7, 0, 40);
    plain.append_made_up(7, 0, 40);
    EXPECT_EQ(hashes(cut), hashes(plain));
  }
}

}  // namespace
}  // namespace wg::sim
