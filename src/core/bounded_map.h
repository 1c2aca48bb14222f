// A map with a limit that never fails and never grows past it: a segmented LRU. A new entry starts on probation; an
// entry used again is protected. When full, the oldest on probation goes first, so a flood of one-time entries cannot
// push out living ones. Owner: one thread.
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

namespace wg {

template <class Key, class Value>
class BoundedMap {
 public:
  // At most `limit` entries (>= 1), of which at most `protected_share` (0..1) are protected.
  explicit BoundedMap(std::size_t limit, double protected_share = 0.8)
      : limit_(limit < 1 ? 1 : limit),
        protected_limit_(static_cast<std::size_t>(static_cast<double>(limit_) * protected_share)) {}

  std::size_t size() const { return index_.size(); }
  std::size_t limit() const { return limit_; }

  // Looks without touching recency. nullptr if absent; valid until the next non-const call.
  const Value* peek(const Key& key) const {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &found->second.position->second;
  }
  Value* peek(const Key& key) { return const_cast<Value*>(std::as_const(*this).peek(key)); }

  // Finds and marks as used: the second use protects. nullptr if absent.
  Value* touch(const Key& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    Slot& slot = found->second;
    Entries& from = slot.is_protected ? protected_ : probation_;
    protected_.splice(protected_.begin(), from, slot.position);
    slot.is_protected = true;
    if (protected_.size() > protected_limit_ && protected_.size() > 1) demote_oldest();
    return &slot.position->second;
  }

  // Inserts on probation (or overwrites and touches). `evicted(key, value)` is told who had to go.
  template <class Evicted>
  Value& put(const Key& key, Value value, Evicted&& evicted) {
    if (Value* known = touch(key)) return *known = std::move(value);
    if (index_.size() >= limit_) evict_oldest(evicted);
    probation_.emplace_front(key, std::move(value));
    index_.emplace(key, Slot{probation_.begin(), false});
    return probation_.front().second;
  }
  Value& put(const Key& key, Value value) {
    return put(key, std::move(value), [](const Key&, Value&) {});
  }

  bool erase(const Key& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return false;
    (found->second.is_protected ? protected_ : probation_).erase(found->second.position);
    index_.erase(found);
    return true;
  }

  // Visits all, most recently used first, the protected ones before the others.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [key, value] : protected_) visit(key, value);
    for (const auto& [key, value] : probation_) visit(key, value);
  }

 private:
  using Entries = std::list<std::pair<const Key, Value>>;
  struct Slot {
    typename Entries::iterator position;
    bool is_protected;
  };

  void demote_oldest() {
    const auto oldest = std::prev(protected_.end());
    probation_.splice(probation_.begin(), protected_, oldest);
    index_.at(oldest->first).is_protected = false;
  }

  template <class Evicted>
  void evict_oldest(Evicted&& evicted) {
    Entries& from = probation_.empty() ? protected_ : probation_;
    auto& [key, value] = from.back();
    evicted(key, value);
    index_.erase(key);
    from.pop_back();
  }

  std::size_t limit_, protected_limit_;
  Entries protected_, probation_;
  std::unordered_map<Key, Slot> index_;
};

}  // namespace wg
