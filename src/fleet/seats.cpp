#include "fleet/seats.h"

#include <algorithm>

#include "core/assert.h"

namespace wg::fleet {

Seat* Seats::seat_of(const SessionKey& lineage) {
  const auto found =
      std::find_if(seats_.begin(), seats_.end(), [&](const Seat& seat) { return seat.lineage == lineage; });
  return found == seats_.end() ? nullptr : &*found;
}
const Seat* Seats::find(const SessionKey& lineage) const { return const_cast<Seats*>(this)->seat_of(lineage); }

void Seats::begin_turn(const SessionKey& lineage, const SessionKey& head, Tokens head_size, Tokens own) {
  Seat* seat = seat_of(lineage);
  if (!seat) {
    seat = &seats_.emplace_back();
    seat->lineage = lineage;
    seat->head = head;
    use_head(head, head_size);
  }
  if (is_leaving(*seat)) leaving_ -= seat->own;
  if (seat->in_flight > 0) own += seat->own;
  taken_ += own - seat->own;
  seat->own = own;
  ++seat->in_flight;
  if (is_leaving(*seat)) leaving_ += seat->own;
  ++seat->turns;
  ++in_flight_;
}

Seat* Seats::end_turn(const SessionKey& lineage, Tokens own) {
  Seat* const seat = seat_of(lineage);
  if (!seat || seat->in_flight == 0) return nullptr;
  if (is_leaving(*seat)) leaving_ -= seat->own;
  --seat->in_flight;
  --in_flight_;
  if (seat->in_flight > 0) {
    seat->own -= own;
    taken_ -= own;
  }
  if (is_leaving(*seat)) leaving_ += seat->own;
  return seat;
}

void Seats::set_stays(const SessionKey& lineage, bool stays) {
  Seat* const seat = seat_of(lineage);
  if (!seat) return;
  if (is_leaving(*seat)) leaving_ -= seat->own;
  seat->stays = stays;
  if (is_leaving(*seat)) leaving_ += seat->own;
}

bool Seats::unseat(const SessionKey& lineage) {
  const Seat* const seat = seat_of(lineage);
  if (!seat || seat->in_flight > 0) return false;
  remove(static_cast<std::size_t>(seat - seats_.data()));
  return true;
}

Seat* Seats::idle(const SessionKey& lineage) {
  Seat* const seat = seat_of(lineage);
  return seat && seat->in_flight == 0 ? seat : nullptr;
}

void Seats::expire(TimePoint now) {
  for (std::size_t i = seats_.size(); i-- > 0;)
    if (seats_[i].in_flight == 0 && now >= seats_[i].held_until) remove(i);
}

TimePoint Seats::first_expiry() const {
  TimePoint first = TimePoint::max();
  for (const Seat& seat : seats_)
    if (seat.in_flight == 0) first = std::min(first, seat.held_until);
  return first;
}

void Seats::make_room(Tokens needed, Tokens capacity) {
  while (taken_ + needed > capacity) {
    const Seat* longest = nullptr;
    for (const Seat& seat : seats_)
      if (seat.in_flight == 0 && (!longest || seat.idle_since < longest->idle_since)) longest = &seat;
    if (!longest) return;
    remove(static_cast<std::size_t>(longest - seats_.data()));
  }
}

void Seats::unseat_idle() {
  for (std::size_t i = seats_.size(); i-- > 0;)
    if (seats_[i].in_flight == 0) remove(i);
}

void Seats::remove(std::size_t at) {
  taken_ -= seats_[at].own;
  leave_head(seats_[at].head);
  seats_[at] = seats_.back();
  seats_.pop_back();
}

void Seats::use_head(const SessionKey& key, Tokens size) {
  if (!key) return;
  for (Head& head : heads_)
    if (head.key == key) return void(++head.seats);
  heads_.push_back({key, size, 1});
  taken_ += size;
}

void Seats::leave_head(const SessionKey& key) {
  for (Head& head : heads_) {
    if (head.key != key || --head.seats > 0) continue;
    taken_ -= head.tokens;
    head = heads_.back();
    heads_.pop_back();
    return;
  }
}

}  // namespace wg::fleet
