// An engine's KV memory: blocks, who holds them, and which prefix each still contains (vLLM's block pool).
// Invariants: block 0 is never handed out, so usable = blocks - 1; a block is free exactly when nobody holds it; free
// and held add up to usable; a held block is never evicted. Free blocks keep their content until they are handed out
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/hash_index.h"
#include "sim/token_chain.h"

namespace wg::sim {

using BlockId = std::uint32_t;

class BlockCache {
 public:
  // blocks >= 2, the null block included (vLLM's num_gpu_blocks).
  explicit BlockCache(std::uint32_t blocks);

  // The longest run of cached blocks from the chain's start, at most `limit`, replaces `found`. Holds nothing.
  void find_prefix(std::span<const BlockHash> chain, std::size_t limit, std::vector<BlockId>& found) const;
  // How many of them are free: holding those takes free blocks too.
  std::size_t free_among(std::span<const BlockId> blocks) const;

  void hold(std::span<const BlockId> blocks);
  // Takes `count` blocks from the front of the free list, appended to `taken`; needs count <= free(). What they
  // contained is evicted.
  void take(std::size_t count, std::vector<BlockId>& taken);
  // A held block is now full: later lookups find it. Equal content in several blocks is kept, the oldest is found
  // first.
  void enter(BlockId block, BlockHash hash);
  // Lets go of a request's blocks, given in prompt order. The last goes first into the free list, so that prefixes
  // survive longest; blocks without a hash go to the front, to be used first.
  void release(std::span<const BlockId> blocks);
  // Forgets all content (vLLM's reset_prefix_cache). False, and nothing happens, while any block is held.
  bool forget_all();

  std::size_t usable() const { return holders_.size() - 1; }
  std::size_t free() const { return free_; }
  double usage() const { return 1.0 - static_cast<double>(free_) / static_cast<double>(usable()); }
  std::uint32_t holders(BlockId block) const { return holders_[block]; }
  bool has_content(BlockId block) const { return content_[block].entered; }
  std::vector<BlockId> free_list() const;  // next to be handed out first; for tests

  std::uint64_t stored() const { return stored_; }    // blocks entered (BlockStored hashes)
  std::uint64_t removed() const { return removed_; }  // blocks evicted (BlockRemoved hashes)

 private:
  struct Link {
    BlockId before = 0, after = 0;
  };
  struct Content {
    BlockHash hash = 0;
    bool entered = false;
  };

  static void insert_after(std::vector<Link>& links, BlockId place, BlockId block);
  static void unlink(std::vector<Link>& links, BlockId block);
  void evict(BlockId block);

  std::vector<std::uint32_t> holders_;
  std::vector<Content> content_;
  std::vector<Link> free_links_;   // a ring through the null block: after it the front, before it the back
  std::vector<Link> equal_links_;  // rings of blocks with equal content, in the order they were entered
  HashIndex oldest_;               // the first of each such ring
  std::size_t free_ = 0;
  std::uint64_t stored_ = 0, removed_ = 0;
};

}  // namespace wg::sim
