// How long it pays to keep a replica's cache for a session that is away, and whom to keep it for.
// Source: InferCept's preserve-or-discard rule, for k residents at once. With seats for k contexts a replica gives k
// turns in s_hit + g seconds, and pays for each rotation, one in q turns, with reading a context; without seats it
// gives one turn in pf + D / k. They are even at g* = k pf + D - s_hit - r pf / q: below it seats win, above it an
// empty seat costs more than reading again. r = 3/4: a quarter of the rotations are none, they fall together with the
// end of a session or a pause (measured: with 1, sessions just below g* lose what they should gain). Pure; any thread.
#pragma once

#include "core/units.h"

namespace wg::policy {

// What a replica was seen to do.
struct ServiceFacts {
  double residents = 1;      // k: contexts that fit at a time, whole ones
  double reread_s = 0;       // pf: reading one again, of what others do not share
  double decode_s = 0;       // D: one turn's answer, alone on the replica
  double hit_service_s = 0;  // s_hit: from dispatch to end of a turn that found its context; 0: none was seen yet
  double quantum = 3;        // q: turns between two rotations
};

// Seconds, at least least_break_even_s.
double break_even_s(const ServiceFacts& facts);
inline constexpr double least_break_even_s = 0.5, rotations_paid = 0.75;

// How long a turn waits, until it is read, if nobody has a seat: `sessions` of a replica take their turns one after
// another, and of that time each spends one turn and one pause otherwise. 0 or more.
double wait_without_seats_s(const ServiceFacts& facts, double sessions, double pause_s);

// For how long an idle resident keeps its seat. Nobody announces the end of a session, so the longer one is away the
// likelier it is that it has ended: with T turns ahead of it and pauses of g in the mean, the odds that it comes back
// are T to e^(t/g) after t seconds. It is waited for while that probability is above g / g*, what a pause costs to what
// it may cost: for g ln(T (g* / g - 1)). Sessions just below the break-even are given up soon, of those far below it
// nearly all returns are waited for.
double hold_s(double break_even, double expected_gap_s);
inline constexpr double turns_ahead = 20, least_hold_s = 0.5;

// Whether a session that is expected back in so many seconds is protected at all.
constexpr bool is_worth_holding(double break_even, double expected_gap_s) { return expected_gap_s <= break_even; }

}  // namespace wg::policy
