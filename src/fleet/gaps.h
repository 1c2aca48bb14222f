// When a session is expected back, in seconds: the mean of its own pauses, with a prior for the kind of wait it is in.
// An answer that calls a tool is followed by the next turn in seconds, one that ends the turn by a person; and a build
// takes longer than reading a file; and a parent whose sub-agents work comes back when they are done, in minutes.
// Without the kinds a mixed load looks as if everybody came back after the mean.
// Invariant: finite, above 0. Owner: the fleet.
#pragma once

#include <array>

#include "core/bounded_map.h"
#include "fleet/events.h"

namespace wg::fleet {

// What a session waits for: how its last answer ended, which tool it called, who sits there.
struct Wait {
  AnswerEnd end = AnswerEnd::unknown;
  std::uint64_t tool = 0;
  ClientKind client = ClientKind::unknown;
  bool for_children = false;  // requests of its sub-agents were under way in it
  float told_s = -1;          // how long it will be, if somebody knows; below 0: nobody does
};

// By how the answer ended; who says nothing is taken for an agent.
bool is_for_a_tool(const Wait& wait);

// A session's own pauses, by what they were for.
struct GapHistory {
  struct Sum {
    float seconds = 0;
    std::uint32_t count = 0;
  };
  Sum tools, others, children;
};

class GapModel {
 public:
  static constexpr double longest_s = 120;  // a longer pause says no more than "long"

  GapModel();

  // The session came back after so long.
  void came_back(GapHistory& own, const Wait& wait, double seconds);
  double expected_s(const GapHistory& own, const Wait& wait) const;

 private:
  // A mean at first, later with the memory of fifty.
  struct Mean {
    double seconds = 0;
    double count = 1;
    void add(double sample);
  };
  Mean& prior_of(const Wait& wait);
  const Mean& prior_of(const Wait& wait) const { return const_cast<GapModel*>(this)->prior_of(wait); }

  std::array<std::array<Mean, 3>, 4> by_end_{};  // [how it ended][client]
  BoundedMap<std::uint64_t, Mean> by_tool_;
  Mean for_children_;
};

}  // namespace wg::fleet
