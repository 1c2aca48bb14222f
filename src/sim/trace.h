// Recorded sessions as token counts (JSON lines, one session each), and a simulated session that does what one of them
// did: its sizes, its pauses, and how much of its history each turn kept.
// Invariant: the same trace, options, seed, client and number give the same plan. Values only; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "sim/workload.h"

namespace wg::sim {

struct TraceTurn {
  double think_s = 0;                            // since the answer before
  std::int64_t input = 0, output = 0, kept = 0;  // tokens; kept: leading ones that equal the prompt before
};

struct TraceSession {
  std::int64_t head = 0;         // system text and tools: sessions with the same number share it
  std::vector<TraceTurn> turns;  // at least one
};

struct Trace {
  std::vector<TraceSession> sessions;  // at least one
};

// The text of a trace file: {"session","model","system_tokens","tool_tokens","turns":[[think_s, input_tokens,
// output_tokens, kept_prefix_tokens, api_s], ...]} a line; of sub-agents also "parent" and "after_turn".
// The error names the line.
Result<Trace> read_trace(std::string_view text);

// The n-th session of client `client`: one of the trace, drawn by seed. A client's first one begins somewhere in the
// recorded one's first half, so that the clients do not go in step. work.kind is trace.
SessionPlan trace_session(const Workload& work, std::uint64_t seed, std::uint32_t client, std::uint64_t n);

// Share of the trace's turns whose prompt and answer are cut to work.limit.
double share_cut(const Workload& work);

}  // namespace wg::sim
