#include "fleet/ledger.h"

#include <algorithm>

#include "core/assert.h"

namespace wg::fleet {

namespace {
// More contexts than any engine keeps: a bound for floods of tiny ones, and for engines whose capacity nobody tells.
constexpr std::size_t most_idle = 4'096;
}  // namespace

void Ledger::set_capacity(std::optional<Tokens> capacity) {
  capacity_ = capacity;
  make_room();
}

void Ledger::take(const SessionKey& key, Tokens size) {
  const bool is_known = copies_.find(key) != nullptr;
  Copy& copy = copies_.at_or_new(key);
  if (is_known && copy.users == 0) {
    idle_.erase(copy.place);
    idle_total_ -= copy.tokens;
  }
  ++copy.users;
  const Tokens grown = std::max({copy.tokens, size, Tokens{}});
  total_ += grown - copy.tokens;
  copy.tokens = grown;
  make_room();
}

void Ledger::give_back(const SessionKey& key, Tokens size) {
  Copy* const found = copies_.find(key);
  if (!found || found->users == 0) return WG_BUG("a copy is given back that is not in use");
  Copy& copy = *found;
  if (--copy.users > 0) return;
  const Tokens left = std::max(size, Tokens{});
  total_ += left - copy.tokens;
  copy.tokens = left;
  if (left == Tokens{}) return copies_.erase(key);
  copy.used = ++uses_;
  copy.place = idle_.insert(idle_.end(), key);
  idle_total_ += left;
  make_room();
}

std::uint64_t Ledger::last_use(const SessionKey& key) const {
  const Copy* const found = copies_.find(key);
  return !found || found->users > 0 ? 0 : found->used;
}

std::optional<Tokens> Ledger::depth(const SessionKey& key) const {
  const Copy* const found = copies_.find(key);
  if (!found || found->users > 0) return std::nullopt;
  Tokens sum = total_ - idle_total_;  // what is in use
  std::size_t looked_at = 0;
  for (auto it = idle_.rbegin(); it != idle_.rend() && ++looked_at <= most_looked_at; ++it) {
    sum += copies_.find(*it)->tokens;
    if (*it == key) return sum;
  }
  return std::nullopt;
}

void Ledger::forget_idle() {
  while (!idle_.empty()) drop_oldest(copies_.find(idle_.front())->tokens);
}

void Ledger::drop_older_than(std::uint64_t use) {
  while (!idle_.empty()) {
    const Copy& oldest = *copies_.find(idle_.front());
    if (oldest.used >= use) return;
    drop_oldest(oldest.tokens);
  }
}

void Ledger::make_room() {
  while (idle_.size() > most_idle) drop_oldest(copies_.find(idle_.front())->tokens);
  if (!capacity_) return;
  while (total_ > *capacity_ && !idle_.empty()) drop_oldest(total_ - *capacity_);
}

void Ledger::drop_oldest(Tokens tokens) {
  const SessionKey oldest = idle_.front();
  Copy& copy = *copies_.find(oldest);
  const Tokens gone = std::min(tokens, copy.tokens);
  copy.tokens -= gone;
  total_ -= gone;
  idle_total_ -= gone;
  if (copy.tokens > Tokens{}) return;
  copies_.erase(oldest);
  idle_.pop_front();
}

}  // namespace wg::fleet
