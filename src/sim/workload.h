// What simulated sessions do: sizes and pauses of their turns, without content. The virtual fleet turns a plan into
// token chains, a load generator over HTTP into text.
// Invariant: the same load, seed, client and number give the same plan, whoever asks and in whatever order, so that
// policies are compared on the same sessions. Values only; any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "sim/preset.h"

namespace wg::sim {

enum class WaitsFor : std::uint8_t { tool, human, unknown };  // what the session does after an answer
enum class WhoAsks : std::uint8_t { agent, human, unknown };

inline constexpr std::int64_t all_of_it = std::numeric_limits<std::int64_t>::max();

struct TurnPlan {
  std::int64_t keep = all_of_it;  // leading tokens of what was said and heard so far; the rest is replaced (compaction)
  std::int64_t added = 0;         // new tokens behind what was kept; of the first turn: its first message
  std::int64_t output = 0;        // tokens that the answer is to have
  Duration pause{};               // from its end to the next turn; after the last one: to the next session
  WaitsFor then = WaitsFor::tool;
};

struct SessionPlan {
  std::uint64_t text = 0;       // names what it says: no two sessions of a load have the same
  std::int64_t head = 0;        // tokens of the system prompt ...
  std::uint64_t head_text = 0;  // ... the same for all sessions of a load that have the same number here
  WhoAsks who = WhoAsks::agent;
  std::vector<TurnPlan> turns;  // at least one
};

// Pauses between turns instead of the load's own.
struct Think {
  enum class Kind : std::uint8_t { as_load, none, exponential, real } kind = Kind::as_load;
  double mean_s = 0;
};
// "none", "exp:8s" (also "exp:500ms"), or "real": as between the requests of recorded coding sessions.
Result<Think> think_named(std::string_view text);

// Workload `agent`: the n-th session of client `client` (both from 0).
SessionPlan agent_session(const AgentLoad& load, const Think& think, std::uint64_t seed, std::uint32_t client,
                          std::uint64_t n);

// When client `client` begins its first session, counted from the load's start.
Duration first_start(const AgentLoad& load, std::uint32_t client);

// agent: what the machine's preset says. mix: the same sizes, but every other client is a human who reads and types
// (pauses of exp 40 s), the others agents (exp 2 s). trace: recorded sessions.
enum class WorkloadKind : std::uint8_t { agent, mix, trace };
struct Trace;

struct Workload {
  WorkloadKind kind = WorkloadKind::agent;
  AgentLoad load;                         // of a trace only stagger and the pause between sessions count
  Think think;                            // not with mix
  std::optional<Duration> longest_pause;  // between turns; longer ones are cut to it
  std::shared_ptr<const Trace> trace;     // of kind trace; runs share it
  double scale = 1;                       // of a trace's lengths
  Tokens limit{0};                        // of a trace: prompt and answer of a turn together
};
SessionPlan session_of(const Workload& work, std::uint64_t seed, std::uint32_t client, std::uint64_t n);

// "agent", "mix" or "trace:FILE". The caller reads the file.
struct WorkloadName {
  WorkloadKind kind = WorkloadKind::agent;
  std::string file;
};
Result<WorkloadName> workload_named(std::string_view text);

// All lengths times `scale`.
AgentLoad scaled(const AgentLoad& load, double scale);

// The pause that a share of those between the requests of recorded coding sessions are not longer than; share 0..1.
double real_pause_s(double share);

// "3m", "90s", "500ms", "1.5h", "0.2s". The error says what is wrong.
Result<Duration> duration_named(std::string_view text);

}  // namespace wg::sim
