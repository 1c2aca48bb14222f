#include "fleet/gaps.h"

#include <algorithm>

namespace wg::fleet {

namespace {
constexpr double prior_weight = 2, memory = 50;
constexpr double first_guess_tool_s = 3, first_guess_person_s = 30;
constexpr std::size_t most_tools = 256;
constexpr double enough_for_a_tool = 4;  // pauses of one tool before it has a mean of its own

bool is_for_a_tool(const Wait& wait) {
  return wait.end == AnswerEnd::tool_call || (wait.end == AnswerEnd::unknown && wait.client != ClientKind::chat);
}
}  // namespace

GapModel::GapModel() : by_tool_(most_tools) {
  for (const AnswerEnd end : {AnswerEnd::unknown, AnswerEnd::turn, AnswerEnd::tool_call, AnswerEnd::cut})
    for (const ClientKind client : {ClientKind::unknown, ClientKind::agent, ClientKind::chat})
      prior_of({end, 0, client}).seconds = is_for_a_tool({end, 0, client}) ? first_guess_tool_s : first_guess_person_s;
}

void GapModel::Mean::add(double sample) {
  count = std::min(count + 1, memory);
  seconds += (sample - seconds) / count;
}

GapModel::Mean& GapModel::prior_of(const Wait& wait) {
  if (Mean* const tool = wait.tool ? by_tool_.peek(wait.tool) : nullptr; tool && tool->count >= enough_for_a_tool)
    return *tool;
  return by_end_[static_cast<std::size_t>(wait.end)][static_cast<std::size_t>(wait.client)];
}

void GapModel::came_back(GapHistory& own, const Wait& wait, double seconds) {
  const double sample = std::clamp(seconds, 0.0, longest_s);
  GapHistory::Sum& sum = is_for_a_tool(wait) ? own.tools : own.others;
  sum.seconds += static_cast<float>(sample);
  ++sum.count;
  by_end_[static_cast<std::size_t>(wait.end)][static_cast<std::size_t>(wait.client)].add(sample);
  if (!wait.tool) return;
  Mean* tool = by_tool_.touch(wait.tool);
  if (!tool) tool = &by_tool_.put(wait.tool, Mean{sample, 0});
  tool->add(sample);
}

double GapModel::expected_s(const GapHistory& own, const Wait& wait) const {
  if (wait.told_s >= 0) return std::min<double>(wait.told_s, longest_s);
  const GapHistory::Sum& sum = is_for_a_tool(wait) ? own.tools : own.others;
  return (prior_of(wait).seconds * prior_weight + static_cast<double>(sum.seconds)) /
         (prior_weight + static_cast<double>(sum.count));
}

}  // namespace wg::fleet
