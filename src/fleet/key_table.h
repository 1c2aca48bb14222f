// Values by session key in one allocation: open addressing, at most half full. Each price of `warm` looks into every
// replica's table, and a node somewhere else would be one more wait for memory.
// Invariants: the zero key is never in it; a reference holds until the next call that adds or takes out; never walked,
// so that its order can decide nothing. Owner: its ledger.
#pragma once

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "core/ids.h"

namespace wg::fleet {

template <class Value>
class KeyTable {
 public:
  KeyTable() : places_(16) {}

  std::size_t size() const { return size_; }
  // It will be looked for soon: many tables are asked at a time, and each answer comes from elsewhere in memory.
  void prefetch(const SessionKey& key) const { __builtin_prefetch(&places_[home_of(key)]); }
  // nullptr if absent.
  const Value* find(const SessionKey& key) const {
    const Place& place = places_[place_of(key)];
    return key && place.key == key ? &place.value : nullptr;
  }
  Value* find(const SessionKey& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

  // The value of that key, a new one if there was none. Not for the zero key.
  Value& at_or_new(const SessionKey& key) {
    WG_ASSERT(static_cast<bool>(key));
    if (Value* const known = find(key)) return *known;
    if (2 * (size_ + 1) > places_.size()) grow();
    ++size_;
    Place& place = places_[place_of(key)];
    place.key = key;
    return place.value;
  }

  // Closes the gap by moving back later entries that probed past it, so that no tombstones pile up.
  void erase(const SessionKey& key) {
    std::size_t gap = place_of(key);
    if (!key || places_[gap].key != key) return;
    --size_;
    const std::size_t mask = places_.size() - 1;
    for (std::size_t next = (gap + 1) & mask; places_[next].key; next = (next + 1) & mask) {
      const std::size_t home = home_of(places_[next].key);
      if (((next - home) & mask) < ((next - gap) & mask)) continue;  // its home lies behind the gap
      places_[gap] = std::move(places_[next]);
      gap = next;
    }
    places_[gap] = {};
  }

 private:
  struct Place {
    SessionKey key;
    Value value;
  };
  std::size_t home_of(const SessionKey& key) const {
    const std::uint64_t mixed = key.high * 0x9E3779B97F4A7C15ull + key.low;
    return static_cast<std::size_t>((mixed ^ (mixed >> 32)) & (places_.size() - 1));
  }
  std::size_t place_of(const SessionKey& key) const {
    std::size_t at = home_of(key);
    while (places_[at].key && places_[at].key != key) at = (at + 1) & (places_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Place> old(2 * places_.size());
    old.swap(places_);
    for (Place& place : old)
      if (place.key) places_[place_of(place.key)] = std::move(place);
  }

  std::vector<Place> places_;  // a power of two of them
  std::size_t size_ = 0;
};

}  // namespace wg::fleet
