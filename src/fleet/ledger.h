// The shadow of one replica's prefix cache: which contexts it should hold, and how much of each. As vLLM keeps it: what
// is in use cannot go; of the rest the least recently used goes first, and of that its tail. Corrected by what answers
// report, so no events of the engine are needed.
// Invariants: sizes are never negative; what is idle and in use together fits the capacity unless what is in use alone
// does not. Owner: the fleet.
#pragma once

#include <list>
#include <optional>

#include "core/ids.h"
#include "core/units.h"
#include "fleet/key_table.h"

namespace wg::fleet {

class Ledger {
 public:
  void set_capacity(std::optional<Tokens> capacity);  // empty: not known, nothing is ever thought to be evicted

  void prefetch(const SessionKey& copy) const { copies_.prefetch(copy); }
  Tokens held(const SessionKey& copy) const {
    const Copy* const found = copies_.find(copy);
    return found ? found->tokens : Tokens{};
  }
  // A request uses it: it grows to `size`, and others make room.
  void take(const SessionKey& copy, Tokens size);
  // The request has ended and left `size` tokens. Of what it used, the tail is to be given back first.
  void give_back(const SessionKey& copy, Tokens size);
  // When it was last used: grows with each use. 0: it is not idle here.
  std::uint64_t last_use(const SessionKey& copy) const;
  // How many tokens were used since it was, itself included: what a cache must hold for it to be there still. Empty:
  // it is in use or unknown, or more than `most_looked_at` copies were.
  std::optional<Tokens> depth(const SessionKey& copy) const;
  static constexpr std::size_t most_looked_at = 512;
  // A copy of that last use turned out to be gone: what has been idle for longer went before it.
  void drop_older_than(std::uint64_t use);

  void forget_idle();  // the engine has begun anew; what is in use ends by itself

  Tokens total() const { return total_; }
  std::size_t copies() const { return copies_.size(); }

 private:
  struct Copy {
    Tokens tokens;
    std::uint32_t users = 0;
    std::uint64_t used = 0;
    std::list<SessionKey>::iterator place;  // among the idle; only without users
  };
  void make_room();
  void drop_oldest(Tokens tokens);

  std::optional<Tokens> capacity_;
  Tokens total_, idle_total_;
  std::uint64_t uses_ = 0;
  KeyTable<Copy> copies_;
  std::list<SessionKey> idle_;  // least recently used first
};

}  // namespace wg::fleet
