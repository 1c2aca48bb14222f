#include "sim/trace.h"

#include <algorithm>
#include <cmath>

#include "core/hash.h"
#include "core/rng.h"

namespace wg::sim {

namespace {

std::int64_t times(std::int64_t tokens, double scale) {
  return static_cast<std::int64_t>(std::llround(static_cast<double>(tokens) * scale));
}

constexpr std::int64_t shortest_prompt = 64, shortest_answer = 4;
constexpr double history_intact = 0.97;  // of the prompt before; less was kept: it was edited or compacted

struct Sizes {
  std::int64_t prompt, answer;
  bool cut;
};
Sizes sizes_of(const TraceTurn& turn, const Workload& work) {
  const std::int64_t limit = std::max<std::int64_t>(work.limit.count, 2 * shortest_prompt);
  const std::int64_t prompt = std::max<std::int64_t>(times(turn.input, work.scale), shortest_prompt);
  const std::int64_t answer = std::max<std::int64_t>(times(turn.output, work.scale), shortest_answer);
  const std::int64_t said = std::min(answer, limit / 2);
  return {std::min(prompt, limit - said), said, prompt + answer > limit};
}

Duration pause_of(Rng& rng, const Workload& work, double recorded_s) {
  constexpr double least_s = 0.1;  // pauses are recorded in whole seconds
  const double exponential = rng.exponential(1.0);
  double pause_s = std::max(recorded_s, least_s);
  if (work.think.kind == Think::Kind::none) pause_s = 0.2;
  if (work.think.kind == Think::Kind::exponential) pause_s = work.think.mean_s * exponential;
  const Duration pause = from_seconds(pause_s);
  return work.longest_pause ? std::min(pause, *work.longest_pause) : pause;
}

}  // namespace

SessionPlan trace_session(const Workload& work, std::uint64_t seed, std::uint32_t client, std::uint64_t n) {
  SessionPlan plan;
  plan.text = mix(mix(mix(0x7472616365, seed), client), n);
  plan.who = WhoAsks::unknown;
  Rng rng(plan.text);
  const auto up_to = [&](std::size_t last) {
    return static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(last)));
  };
  const TraceSession& session = work.trace->sessions[up_to(work.trace->sessions.size() - 1)];
  const std::size_t half = session.turns.size() / 2;
  const std::size_t first = n == 0 && half > 0 ? up_to(half - 1) : 0;

  std::int64_t talked = 0;  // tokens of the prompt and the answer before
  for (std::size_t i = first; i < session.turns.size(); ++i) {
    const Sizes size = sizes_of(session.turns[i], work);
    TurnPlan turn;
    turn.output = size.answer;
    turn.then = WaitsFor::unknown;
    if (i == first) {
      plan.head_text = static_cast<std::uint64_t>(session.head);
      plan.head = std::min(times(session.head, work.scale), size.prompt - 1);
      turn.added = size.prompt - plan.head;
    } else {
      const std::int64_t kept = session.turns[i].kept;
      const bool intact = static_cast<double>(kept) >= history_intact * static_cast<double>(session.turns[i - 1].input);
      turn.keep = std::min({intact ? talked : times(kept, work.scale), talked, size.prompt - 1});
      turn.added = size.prompt - turn.keep;
    }
    talked = size.prompt + size.answer;
    const bool last = i + 1 == session.turns.size();
    turn.pause = last ? from_seconds(work.load.between_sessions_s) : pause_of(rng, work, session.turns[i + 1].think_s);
    plan.turns.push_back(turn);
  }
  return plan;
}

double share_cut(const Workload& work) {
  double cut = 0, all = 0;
  for (const TraceSession& session : work.trace->sessions)
    for (const TraceTurn& turn : session.turns) {
      ++all;
      if (sizes_of(turn, work).cut) ++cut;
    }
  return all > 0 ? cut / all : 0;
}

}  // namespace wg::sim
