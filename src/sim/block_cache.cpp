#include "sim/block_cache.h"

#include <algorithm>
#include <ranges>

#include "core/assert.h"

namespace wg::sim {

namespace {
constexpr BlockId null_block = 0;
}

BlockCache::BlockCache(std::uint32_t blocks)
    : holders_(std::max(blocks, 2u)),
      content_(holders_.size()),
      free_links_(holders_.size()),
      equal_links_(holders_.size()),
      oldest_(holders_.size()) {
  WG_ASSERT(blocks >= 2);
  for (BlockId block = 1; block < holders_.size(); ++block) insert_after(free_links_, block - 1, block);
  free_ = usable();
}

void BlockCache::find_prefix(std::span<const BlockHash> chain, std::size_t limit, std::vector<BlockId>& found) const {
  found.clear();
  for (const BlockHash hash : chain.first(std::min(limit, chain.size()))) {
    const BlockId block = oldest_.find(hash);
    if (block == null_block) return;
    found.push_back(block);
  }
}

std::size_t BlockCache::free_among(std::span<const BlockId> blocks) const {
  return static_cast<std::size_t>(std::ranges::count_if(blocks, [&](BlockId block) { return holders_[block] == 0; }));
}

void BlockCache::hold(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) {
    if (holders_[block]++ > 0) continue;
    unlink(free_links_, block);
    --free_;
  }
}

void BlockCache::take(std::size_t count, std::vector<BlockId>& taken) {
  WG_ASSERT(count <= free_);
  for (std::size_t i = 0; i < count; ++i) {
    const BlockId block = free_links_[null_block].after;
    unlink(free_links_, block);
    evict(block);
    holders_[block] = 1;
    taken.push_back(block);
  }
  free_ -= count;
}

void BlockCache::enter(BlockId block, BlockHash hash) {
  WG_ASSERT(block != null_block && holders_[block] > 0 && !content_[block].entered);
  content_[block] = {hash, true};
  ++stored_;
  if (const BlockId oldest = oldest_.find(hash); oldest != null_block) {
    insert_after(equal_links_, equal_links_[oldest].before, block);
  } else {
    equal_links_[block] = {block, block};
    oldest_.set(hash, block);
  }
}

void BlockCache::release(std::span<const BlockId> blocks) {
  BlockId front = null_block;  // the last block put at the front, in its order
  for (const BlockId block : std::views::reverse(blocks)) {
    WG_ASSERT(holders_[block] > 0);
    if (--holders_[block] > 0) continue;
    ++free_;
    if (content_[block].entered) {
      insert_after(free_links_, free_links_[null_block].before, block);
    } else {
      insert_after(free_links_, front, block);
      front = block;
    }
  }
}

bool BlockCache::forget_all() {
  if (free_ != usable()) return false;
  content_.assign(content_.size(), {});
  oldest_.clear();
  return true;
}

std::vector<BlockId> BlockCache::free_list() const {
  std::vector<BlockId> blocks;
  for (BlockId block = free_links_[null_block].after; block != null_block; block = free_links_[block].after)
    blocks.push_back(block);
  return blocks;
}

void BlockCache::insert_after(std::vector<Link>& links, BlockId place, BlockId block) {
  const BlockId after = links[place].after;
  links[block] = {place, after};
  links[place].after = block;
  links[after].before = block;
}

void BlockCache::unlink(std::vector<Link>& links, BlockId block) {
  const Link link = links[block];
  links[link.before].after = link.after;
  links[link.after].before = link.before;
}

void BlockCache::evict(BlockId block) {
  Content& content = content_[block];
  if (!content.entered) return;
  if (oldest_.find(content.hash) == block) {
    const BlockId next = equal_links_[block].after;
    if (next == block)
      oldest_.erase(content.hash);
    else
      oldest_.set(content.hash, next);
  }
  unlink(equal_links_, block);
  content = {};
  ++removed_;
}

}  // namespace wg::sim
