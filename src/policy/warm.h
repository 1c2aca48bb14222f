// `warm`, the choice of a replica: which may take the request now, and which of these is cheapest, in seconds.
//   price = backlog + reading what is not cached + slower answers for each seat + reading again what is displaced
// Invariants: the cheapest that may take it wins unless home is nearly as cheap; equals go to the lower index.
// Pure; any thread.
#pragma once

#include <span>

#include "policy/decision.h"

namespace wg::policy {

// A replica in the eyes of one request.
struct WarmView {
  ReplicaIndex replica = no_replica;
  bool up = false;
  std::uint32_t in_flight = 0;
  std::uint32_t seated = 0;    // seats, also of those that are between two turns
  std::uint32_t unread = 0;    // in flight, sent but not prefilled yet
  double backlog_s = 0;        // until they are
  double prefill_s = 0;        // of this request here, without its network and first step
  double crowd_s = 0;          // for each seat: its answer and this one's come so much later
  Tokens cached;               // of its prompt, expected
  Tokens capacity;             // that seats may take, all together; 0: not known
  Tokens need, room;           // of a seat for it; what protected sessions leave free, below 0 if they outgrew it
  Tokens leaving;              // seats that are free once their turns under way have ended
  double displaced_s = 0;      // reading again what would lose its protection
  double expected_back_s = 0;  // until the first of the idle residents is expected; 0: there is none
  bool is_empty = false;       // no seats at all
  bool is_suspected = false;   // it may be dying: only residents go there
  bool is_resident = false;    // the request's lineage has a seat there: its next turn is always let in
};

struct WarmAsk {
  ReplicaIndex home = no_replica;  // where its context was last
  double reread_s = 0;             // reading all of it
  bool must_fit = true;            // false: no seats (late binding is off)
  bool keep_busy = true;           // the work-conserving rule
  bool may_move = true;            // the move rule; false: home whenever it may take it
  bool wait_for_home = true;       // for a while, where home is full and reading elsewhere takes longer
  double waited_s = 0;             // so far
  bool by_price = true;            // false: the fewest in flight
  Tokens largest_cache{};          // of those that are up; 0: not known
};

inline constexpr double seat_turns = 3;          // that a seat is taken for, at least: its crowd slows all of them
inline constexpr std::uint32_t most_unread = 2;  // inside an engine: what is sent cannot be called back or reordered
inline constexpr std::uint32_t most_beside = 1;  // turns of one lineage that are let in at home as its resident's
inline constexpr double least_gain_to_move_s = 1.0, reread_share_to_move = 0.5;
inline constexpr double least_gain_to_wait_s = 0.3;  // less is not worth a look

enum class Admission : std::uint8_t { no, fits, next, alone, keeps_busy };
Admission admission(const WarmView& view, const WarmAsk& ask);

// A look at a replica that costs little: whether admission() of one that is no resident there is `no` for sure. The
// need may be told as less than it is.
struct WarmGlance {
  std::uint32_t in_flight = 0, unread = 0;
  Tokens need_at_least, room, leaving;
};
constexpr bool is_hopeless(const WarmGlance& glance) {
  if (glance.unread >= most_unread) return true;
  if (glance.in_flight == 0) return false;
  return glance.need_at_least > glance.room + (glance.unread == 0 ? glance.leaving : Tokens{});
}

// Its home is full, and reading elsewhere takes so much longer. Nobody knows how soon home has room: who waits for as
// long as the longer reading takes, and then moves, waits at most twice what the best choice would have cost (ski
// rental).
constexpr bool is_worth_waiting(double gain_s, double waited_s) {
  return gain_s > least_gain_to_wait_s && waited_s < gain_s;
}

// replica is no_replica if none may take it now.
Decision warm(std::span<const WarmView> pool, const WarmAsk& ask);

}  // namespace wg::policy
