// The engine model's figures as a recording teaches them: cache size, prefill and decode rates, time on the way, and
// the head that sessions share. What it does not teach is the preset's, and each figure says where it is from. Pure.
#pragma once

#include <string>

#include "sim/preset.h"
#include "sim/recorded_load.h"

namespace wg::sim {

struct LearntEngine {
  Preset preset;                   // with all that was learnt in it
  Tokens shared_head{};            // at the beginning of every session's prompt
  std::vector<std::string> words;  // a line for each figure: its value and where it is from
};

LearntEngine learnt_engine(const RecordedLoad& load, const Preset& otherwise);

// y = intercept + slope x, by least squares. Empty where the points do not tell a slope.
struct StraightLine {
  double intercept = 0, slope = 0;
};
std::optional<StraightLine> least_squares(const std::vector<std::pair<double, double>>& points);

}  // namespace wg::sim
