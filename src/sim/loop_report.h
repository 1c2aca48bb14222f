// Rows of closed loops as people and scripts read them: means over seeds, a table with the reference's columns, JSON
// with the names that docs fix. With several seeds least and most stand beside each mean. Pure; any thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/closed_loop.h"

namespace wg::sim {

// One cell of the table: a policy with so many sessions, once for each seed.
struct LoopRows {
  std::string target, policy;
  std::uint32_t sessions = 0;
  std::vector<LoopRow> seeds;  // at least one
};

// What a row holds, once for the means, the JSON, the table and the page.
struct Column {
  const char* name;  // in JSON
  double LoopRow::* value;
  const char* head;  // in the table
  double times = 1;
  int decimals = 2;
};
inline constexpr std::array<Column, 14> columns{{
    {"sessions_per_hour", &LoopRow::sessions_per_hour, "sessions/h", 1, 0},
    {"output_tokens_per_min", &LoopRow::output_tokens_per_min, "output tok/min", 1, 0},
    {"ttfb_p50_s", &LoopRow::ttfb_p50_s, "TTFB p50 s"},
    {"ttfb_p95_s", &LoopRow::ttfb_p95_s, "TTFB p95 s"},
    {"ttfb_mean_s", &LoopRow::ttfb_mean_s, "mean s"},
    {"replicas_busy", &LoopRow::replicas_busy, "replicas busy"},
    {"prefix_hit_share", &LoopRow::prefix_hit_share, "prefix hits %", 100, 1},
    {"stayed_share", &LoopRow::stayed_share, "stayed %", 100, 1},
    {"session_time_p50_s", &LoopRow::session_time_p50_s, "session p50 s", 1, 0},
    {"session_time_p95_s", &LoopRow::session_time_p95_s, "session p95 s", 1, 0},
    {"wait_p95_s", &LoopRow::wait_p95_s, "wait p95 s"},
    {"preemptions", &LoopRow::preemptions, "preemptions", 1, 0},
    {"failures", &LoopRow::failures, "failures", 1, 0},
    {"turns", &LoopRow::turns, "turns", 1, 0},
}};

LoopRow mean_of(const std::vector<LoopRow>& rows);

std::string table_of(const std::vector<LoopRows>& all);
std::string json_of(const std::vector<LoopRows>& all);  // {"rows":[...]}

}  // namespace wg::sim
