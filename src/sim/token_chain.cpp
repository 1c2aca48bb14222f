#include "sim/token_chain.h"

#include <algorithm>
#include <string_view>

#include "core/assert.h"
#include "core/hash.h"

namespace wg::sim {

TokenId made_up_token(std::uint64_t text, std::uint64_t index) { return static_cast<TokenId>(mix(text, index)); }

TokenChain::TokenChain(std::uint32_t block_size, std::uint64_t salt)
    : block_size_(std::max(block_size, 1u)), salted_(mix(block_size_, salt)), last_(salted_) {
  WG_ASSERT(block_size >= 1);
}

void TokenChain::append(TokenId token) {
  tail_.push_back(token);
  if (tail_.size() < block_size_) return;
  close_block(tail_);
  tail_.clear();
}

void TokenChain::append(std::span<const TokenId> tokens) {
  while (!tokens.empty() && !tail_.empty()) {
    append(tokens.front());
    tokens = tokens.subspan(1);
  }
  for (; tokens.size() >= block_size_; tokens = tokens.subspan(block_size_)) close_block(tokens.first(block_size_));
  tail_.insert(tail_.end(), tokens.begin(), tokens.end());
}

void TokenChain::append_made_up(std::uint64_t text, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) append(made_up_token(text, first + i));
}

void TokenChain::truncate(std::size_t blocks) {
  if (blocks > hashes_.size()) return;
  hashes_.resize(blocks);
  tail_.clear();
  last_ = hashes_.empty() ? salted_ : hashes_.back();
}

void TokenChain::close_block(std::span<const TokenId> tokens) {
  const std::string_view bytes(reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes());
  last_ = xxh3(bytes, last_);
  hashes_.push_back(last_);
}

}  // namespace wg::sim
