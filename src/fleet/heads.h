// The heads that lineages share, system text and tools, by their hash: how many tokens each is. Nobody tells; the first
// turn of a new lineage on a replica that has served that head finds just the head cached.
// Invariant: a size is never negative. Owner: the fleet.
#pragma once

#include "core/bounded_map.h"
#include "core/ids.h"
#include "core/units.h"

namespace wg::fleet {

class Heads {
 public:
  Heads() : sizes_(4096) {}
  Tokens size(const SessionKey& head) const {
    const Tokens* const known = head ? sizes_.peek(head) : nullptr;
    return known ? *known : Tokens{};
  }
  // A lineage that was new on its replica found so much of its prompt cached there.
  void found(const SessionKey& head, Tokens cached) {
    if (!head || cached.count <= 0) return;
    Tokens* const known = sizes_.touch(head);
    if (!known) return void(sizes_.put(head, cached));
    // A head that is being evicted is found in part, a prompt that agrees further in more: neither is believed whole.
    const std::int64_t step = std::max<std::int64_t>(known->count / 8, 16);
    known->count += std::clamp(cached.count - known->count, -step, step);
  }

 private:
  BoundedMap<SessionKey, Tokens> sizes_;
};

}  // namespace wg::fleet
