// A token sequence as an engine's prefix cache sees it: one hash per full block, each chained over the one before, and
// the tokens of the unfinished block. Growing by n tokens costs n: a conversation hashes only what is new.
// Invariants: equal tokens, block size and salt give equal hashes; a hash names the whole prefix up to its block's end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"

namespace wg::sim {

using TokenId = std::uint32_t;
using BlockHash = std::uint64_t;

// Token `index` of an endless made-up text named `text`: what simulated clients say and simulated engines answer.
TokenId made_up_token(std::uint64_t text, std::uint64_t index);

class TokenChain {
 public:
  // block_size >= 1. `salt` separates chains that must not share blocks (vLLM's cache_salt, another model).
  explicit TokenChain(std::uint32_t block_size = 16, std::uint64_t salt = 0);

  void append(TokenId token);
  void append(std::span<const TokenId> tokens);
  // `count` tokens of the made-up text, beginning at its token `first`.
  void append_made_up(std::uint64_t text, std::uint64_t first, std::uint64_t count);

  // Only its first `blocks` full blocks stay; fewer if it has no more.
  void truncate(std::size_t blocks);

  std::uint32_t block_size() const { return block_size_; }
  Tokens size() const {
    return {static_cast<std::int64_t>(hashes_.size()) * block_size_ + static_cast<std::int64_t>(tail_.size())};
  }
  std::span<const BlockHash> full_blocks() const { return hashes_; }
  std::span<const TokenId> tail() const { return tail_; }  // fewer than block_size

 private:
  void close_block(std::span<const TokenId> tokens);

  std::uint32_t block_size_;
  BlockHash salted_;  // what the first block is chained to
  BlockHash last_;    // the hash of the last full block, or the salt's
  std::vector<BlockHash> hashes_;
  std::vector<TokenId> tail_;
};

}  // namespace wg::sim
