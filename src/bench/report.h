// What a bench prints: the simulator's table and JSON, and below them where each figure comes from, what failed, and
// what the load generator itself used. Pure; any thread.
#pragma once

#include <string>

#include "bench/run.h"

namespace wg::bench {

constexpr double failures_allowed = 0.05;  // share of the turns; above it the bench has failed

double failed_share(const BenchResult& result);  // 0 without turns

std::string text_of(const BenchResult& result, const BenchPlan& plan);
std::string json_of(const BenchResult& result, const BenchPlan& plan);
std::string html_of(const BenchResult& result, const BenchPlan& plan);  // one page, as simulate's

}  // namespace wg::bench
