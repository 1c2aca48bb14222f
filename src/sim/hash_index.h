// Block hash -> block id: open addressing in one allocation, because an engine step enters and evicts hundreds.
// Invariants: at most half full; block id 0 (the null block) marks an empty place; never iterated, so that its order
// can decide nothing. Owner: the block cache.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/assert.h"

namespace wg::sim {

class HashIndex {
 public:
  explicit HashIndex(std::size_t most_entries)
      : places_(std::bit_ceil(2 * most_entries + 2)), mask_(places_.size() - 1) {}

  // 0 if absent.
  std::uint32_t find(std::uint64_t hash) const { return places_[place_of(hash)].block; }

  // Sets or replaces; block != 0.
  void set(std::uint64_t hash, std::uint32_t block) {
    WG_ASSERT(block != 0);
    places_[place_of(hash)] = {hash, block};
  }

  // Closes the gap by moving back later entries that probed past it, so that no tombstones pile up.
  void erase(std::uint64_t hash) {
    std::size_t gap = place_of(hash);
    if (places_[gap].block == 0) return;
    for (std::size_t next = (gap + 1) & mask_; places_[next].block != 0; next = (next + 1) & mask_) {
      const std::size_t home = places_[next].hash & mask_;
      if (((next - home) & mask_) < ((next - gap) & mask_)) continue;  // its home lies after the gap
      places_[gap] = places_[next];
      gap = next;
    }
    places_[gap] = {};
  }

  void clear() { places_.assign(places_.size(), {}); }

 private:
  struct Place {
    std::uint64_t hash = 0;
    std::uint32_t block = 0;
  };

  // Where the hash is, or the empty place where it would go.
  std::size_t place_of(std::uint64_t hash) const {
    std::size_t place = hash & mask_;
    while (places_[place].block != 0 && places_[place].hash != hash) place = (place + 1) & mask_;
    return place;
  }

  std::vector<Place> places_;
  std::size_t mask_;
};

}  // namespace wg::sim
