// What simulated sessions do: sizes and pauses of their turns, without content. The virtual fleet turns a plan into
// token chains, a load generator over HTTP into text.
// Invariant: the same load, seed and number give the same plan, whoever asks and in whatever order, so that policies
// are compared on the same sessions. Values only; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "sim/preset.h"

namespace wg::sim {

enum class WaitsFor : std::uint8_t { tool, human };  // what the session does after an answer

struct TurnPlan {
  std::int64_t added = 0;   // new tokens behind what was said so far; of the first turn: its first message
  std::int64_t output = 0;  // tokens that the answer is to have
  Duration pause{};         // from its end to the next turn; after the last one: to the next session
  WaitsFor then = WaitsFor::tool;
};

struct SessionPlan {
  std::uint64_t text = 0;       // names what it says: no two sessions of a load have the same
  std::int64_t head = 0;        // tokens of the system prompt, the same for all sessions of a load
  std::vector<TurnPlan> turns;  // at least one
};

// Pauses between turns instead of the load's own.
struct Think {
  enum class Kind : std::uint8_t { as_load, none, exponential } kind = Kind::as_load;
  double mean_s = 0;
};
// "none" or "exp:8s" (also "exp:500ms").
Result<Think> think_named(std::string_view text);

// Workload `agent`: the n-th session of client `client` (both from 0).
SessionPlan agent_session(const AgentLoad& load, const Think& think, std::uint64_t seed, std::uint32_t client,
                          std::uint64_t n);

// When client `client` begins its first session, counted from the load's start.
Duration first_start(const AgentLoad& load, std::uint32_t client);

// "3m", "90s", "500ms", "1.5h", "0.2s". The error says what is wrong.
Result<Duration> duration_named(std::string_view text);

}  // namespace wg::sim
