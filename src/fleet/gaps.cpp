#include "fleet/gaps.h"

#include <algorithm>

namespace wg::fleet {

namespace {
constexpr double prior_weight = 3, memory = 50;
constexpr double first_guess_tool_s = 3, first_guess_person_s = 30, first_guess_children_s = GapModel::longest_s;
constexpr std::size_t most_tools = 256;
constexpr double enough_for_a_tool = 4;  // pauses of one tool before it has a mean of its own

// The one of a history's sums that a wait belongs to.
template <class History>
auto& sum_of(History& own, const Wait& wait) {
  return wait.for_children ? own.children : is_for_a_tool(wait) ? own.tools : own.others;
}
}  // namespace

bool is_for_a_tool(const Wait& wait) {
  return wait.end == AnswerEnd::tool_call || (wait.end == AnswerEnd::unknown && wait.client != ClientKind::chat);
}

GapModel::GapModel() : by_tool_(most_tools), for_children_{first_guess_children_s, 1} {
  for (const AnswerEnd end : {AnswerEnd::unknown, AnswerEnd::turn, AnswerEnd::tool_call, AnswerEnd::cut})
    for (const ClientKind client : {ClientKind::unknown, ClientKind::agent, ClientKind::chat})
      prior_of({end, 0, client}).seconds = is_for_a_tool({end, 0, client}) ? first_guess_tool_s : first_guess_person_s;
}

void GapModel::Mean::add(double sample) {
  count = std::min(count + 1, memory);
  seconds += (sample - seconds) / count;
}

GapModel::Mean& GapModel::prior_of(const Wait& wait) {
  if (wait.for_children) return for_children_;
  if (Mean* const tool = wait.tool ? by_tool_.peek(wait.tool) : nullptr; tool && tool->count >= enough_for_a_tool)
    return *tool;
  return by_end_[static_cast<std::size_t>(wait.end)][static_cast<std::size_t>(wait.client)];
}

void GapModel::came_back(GapHistory& own, const Wait& wait, double seconds) {
  const double sample = std::clamp(seconds, 0.0, longest_s);
  GapHistory::Sum& sum = sum_of(own, wait);
  sum.seconds += static_cast<float>(sample);
  ++sum.count;
  Mean& kind = by_end_[static_cast<std::size_t>(wait.end)][static_cast<std::size_t>(wait.client)];
  (wait.for_children ? for_children_ : kind).add(sample);
  // Also if its name is that of the tool which starts sub-agents: the next time it is known before they come.
  if (!wait.tool) return;
  Mean* tool = by_tool_.touch(wait.tool);
  if (!tool) tool = &by_tool_.put(wait.tool, Mean{sample, 0});
  tool->add(sample);
}

double GapModel::expected_s(const GapHistory& own, const Wait& wait) const {
  if (wait.told_s >= 0) return std::min<double>(wait.told_s, longest_s);
  const GapHistory::Sum& sum = sum_of(own, wait);
  return (prior_of(wait).seconds * prior_weight + static_cast<double>(sum.seconds)) /
         (prior_weight + static_cast<double>(sum.count));
}

}  // namespace wg::fleet
