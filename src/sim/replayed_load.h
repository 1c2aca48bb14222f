// Recorded sessions once more in a closed loop, under a policy and before modelled engines: the first turn of each
// comes when it came, every later one as long after the answer before it as it did. Owner: one thread. Invariant: same
// load, engine, policy and seed give the same row.
#pragma once

#include "sim/learnt_engine.h"

namespace wg::sim {

struct Replayed {
  LoopRow row;                  // preemptions and hits as the modelled engines count them
  std::uint64_t shortened = 0;  // prompts longer than the modelled cache: cut to what fits
};

// `spec`: the recorded fleet; its pools route by `policy` whatever it says.
Replayed replay_load(const RecordedLoad& load, const LearntEngine& engine, fleet::Spec spec, policy::PolicyName policy,
                     std::uint64_t seed);

}  // namespace wg::sim
