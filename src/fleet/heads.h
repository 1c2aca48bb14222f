// The heads that lineages share, system text and tools, by their hash: how many tokens each is. Nobody tells; the first
// turn of a new lineage on a replica that has served that head finds just the head cached.
// Invariant: a size is never negative. Owner: the fleet.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "core/bounded_map.h"
#include "core/ids.h"
#include "core/units.h"

namespace wg::fleet {

class Heads {
 public:
  Heads() : heads_(4096) {}
  Tokens size(const SessionKey& head) const {
    const Head* const known = head ? heads_.peek(head) : nullptr;
    return known ? known->size : Tokens{};
  }
  // A lineage that was new on its replica found so much of its prompt cached there.
  void found(const SessionKey& head, Tokens cached) {
    if (!head || cached.count <= 0) return;
    Head* const known = heads_.touch(head);
    if (!known) return void(heads_.put(head, {cached, cached}));
    // A head that is being evicted, or that only begins as an older one does, is found in part; a prompt that agrees
    // further, in more: none of these is believed whole. What two in a row have found is.
    const std::int64_t step = std::max<std::int64_t>(known->size.count / 8, 16);
    const bool is_seen_twice = std::abs(cached.count - known->last.count) <= 16;
    known->size.count =
        is_seen_twice ? cached.count : known->size.count + std::clamp(cached.count - known->size.count, -step, step);
    known->last = cached;
  }

  std::size_t known() const { return heads_.size(); }
  // visit(key, size) of each: those that several lineages had, the latest first, and then the others.
  template <class Visit>
  void for_each(Visit&& visit) const {
    heads_.for_each([&](const SessionKey& key, const Head& head) { visit(key, head.size); });
  }

 private:
  struct Head {
    Tokens size, last;
  };
  BoundedMap<SessionKey, Head> heads_;
};

}  // namespace wg::fleet
