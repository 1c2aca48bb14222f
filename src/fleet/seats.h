// The seats of one replica: whose contexts it is to keep. A lineage has one while it has a request in flight, and for
// its hold after that. Heads (system text and tools) that several share count once.
// Invariants: taken() is the sum of the seats and of the heads in use; what is in flight is never unseated.
// Owner: the fleet.
#pragma once

#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace wg::fleet {

struct Seat {
  SessionKey lineage, head;
  Tokens own;  // without the head; of all its turns in flight, who may have less in common than their beginning
  std::uint32_t in_flight = 0;
  std::uint32_t turns = 0;  // served since it sat down
  bool stays = true;        // it will be held behind the turn that it is in
  TimePoint idle_since, held_until;
  double back_in_s = 0;  // expected, from when it became idle
  double reread_s = 0;   // of its context
};

class Seats {
 public:
  const Seat* find(const SessionKey& lineage) const;
  const std::vector<Seat>& all() const { return seats_; }
  Tokens taken() const { return taken_; }
  bool counts_head(const SessionKey& head) const {
    for (const Head& one : heads_)
      if (one.key == head) return true;
    return false;
  }
  std::uint32_t in_flight() const { return in_flight_; }
  Tokens leaving() const { return leaving_; }  // seats that will be free once their turns under way have ended

  // A turn begins: `own` is what the seat is sized for, beside others of its lineage in flight.
  void begin_turn(const SessionKey& lineage, const SessionKey& head, Tokens head_size, Tokens own);
  // ... and ends; `own` as it was when it began. nullptr: it has no seat. Others of its lineage may be in flight still.
  Seat* end_turn(const SessionKey& lineage, Tokens own);
  void set_stays(const SessionKey& lineage, bool stays);
  Seat* idle(const SessionKey& lineage);   // nullptr: it has none, or is in flight
  bool unseat(const SessionKey& lineage);  // only an idle one; else nothing. Whether it did

  // Seats that were held long enough become free.
  void expire(TimePoint now);
  TimePoint first_expiry() const;  // of an idle seat; the end of time if there is none
  // Takes the protection of the longest idle until `needed` fits `capacity`, or none is idle.
  void make_room(Tokens needed, Tokens capacity);
  void unseat_idle();

 private:
  struct Head {
    SessionKey key;
    Tokens tokens;
    std::uint32_t seats = 0;
  };
  static bool is_leaving(const Seat& seat) { return seat.in_flight > 0 && !seat.stays; }
  Seat* seat_of(const SessionKey& lineage);
  void remove(std::size_t at);
  void use_head(const SessionKey& head, Tokens size);
  void leave_head(const SessionKey& head);

  std::vector<Seat> seats_;  // in no order that matters
  std::vector<Head> heads_;
  Tokens taken_, leaving_;
  std::uint32_t in_flight_ = 0;
};

}  // namespace wg::fleet
