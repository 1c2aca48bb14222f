// How many requests of sub-agents each session has under way, from their arrival to their end, wherever they are: in an
// engine, between two attempts, or in the queue. While it has any, its conversation waits for them.
// Invariant: what has none is not kept, so nothing is left when no request is known. Owner: the fleet.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/assert.h"
#include "core/ids.h"

namespace wg::fleet {

class Children {
 public:
  void arrived(const SessionKey& parent) { ++under_way_[parent]; }
  void ended(const SessionKey& parent) {
    const auto found = under_way_.find(parent);
    if (found == under_way_.end()) return WG_BUG("a sub-agent's request ended that had not arrived");
    if (--found->second == 0) under_way_.erase(found);
  }
  std::uint32_t of(const SessionKey& session) const {
    const auto found = under_way_.find(session);
    return found == under_way_.end() ? 0 : found->second;
  }
  std::size_t parents() const { return under_way_.size(); }

 private:
  std::unordered_map<SessionKey, std::uint32_t> under_way_;  // looked up only, never walked
};

}  // namespace wg::fleet
