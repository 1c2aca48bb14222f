#include "sim/workload.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/hash.h"
#include "core/rng.h"
#include "sim/trace.h"

namespace wg::sim {

namespace {

std::int64_t one_of(Rng& rng, const TokenRange& range) { return rng.between(range.low, range.high); }

Duration pause_of(Rng& rng, const AgentLoad& load, const Think& think) {
  // Drawn in any case, so that a session has the same sizes whatever its pauses are.
  const double exponential = rng.exponential(1.0);
  switch (think.kind) {
    case Think::Kind::real:
      return from_seconds(real_pause_s(1 - std::exp(-exponential)));
    case Think::Kind::none:
      return from_seconds(load.pause_is_mean ? 0.2 : load.pause_s);
    case Think::Kind::exponential:
      return from_seconds(think.mean_s * exponential);
    case Think::Kind::as_load:
      break;
  }
  return from_seconds(load.pause_s * (load.pause_is_mean ? exponential : 1.0));
}

}  // namespace

SessionPlan agent_session(const AgentLoad& load, const Think& think, std::uint64_t seed, std::uint32_t client,
                          std::uint64_t n) {
  SessionPlan plan;
  plan.text = mix(mix(mix(0x616765, seed), client), n);
  plan.head = load.head;
  Rng rng(plan.text);
  plan.turns.resize(std::max(load.turns, 1u));
  for (std::size_t i = 0; i < plan.turns.size(); ++i) {
    TurnPlan& turn = plan.turns[i];
    turn.added = one_of(rng, i == 0 ? load.first : load.added);
    turn.output = std::max<std::int64_t>(one_of(rng, load.output), 1);
    turn.pause = pause_of(rng, load, think);
  }
  plan.turns.back().pause = from_seconds(load.between_sessions_s);
  plan.turns.back().then = WaitsFor::human;
  return plan;
}

SessionPlan session_of(const Workload& work, std::uint64_t seed, std::uint32_t client, std::uint64_t n) {
  if (work.kind == WorkloadKind::trace) return trace_session(work, seed, client, n);
  const bool human = work.kind == WorkloadKind::mix && client % 2 == 1;
  Think think = work.think;
  if (work.kind == WorkloadKind::mix) think = {Think::Kind::exponential, human ? 40.0 : 2.0};
  SessionPlan plan = agent_session(work.load, think, seed, client, n);
  if (human) plan.who = WhoAsks::human;
  for (TurnPlan& turn : plan.turns) {
    if (human) turn.then = WaitsFor::human;
    if (work.longest_pause && &turn != &plan.turns.back()) turn.pause = std::min(turn.pause, *work.longest_pause);
  }
  return plan;
}

Result<WorkloadName> workload_named(std::string_view text) {
  if (text == "agent") return WorkloadName{WorkloadKind::agent, {}};
  if (text == "mix") return WorkloadName{WorkloadKind::mix, {}};
  constexpr std::string_view trace = "trace:";
  if (text.starts_with(trace) && text.size() > trace.size())
    return WorkloadName{WorkloadKind::trace, std::string(text.substr(trace.size()))};
  return fail(Fault::client, "unknown workload '" + std::string(text) + "'; known are agent, mix, trace:FILE");
}

AgentLoad scaled(const AgentLoad& load, double scale) {
  const auto times = [&](std::int64_t tokens) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::llround(static_cast<double>(tokens) * scale)), 1);
  };
  AgentLoad out = load;
  out.head = times(load.head);
  for (TokenRange* range : {&out.first, &out.added, &out.output}) *range = {times(range->low), times(range->high)};
  return out;
}

Duration first_start(const AgentLoad& load, std::uint32_t client) { return from_seconds(load.stagger_s * client); }

Result<Duration> duration_named(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  double seconds = -1;
  if (unit == "ms") seconds = 0.001;
  if (unit == "s") seconds = 1;
  if (unit == "m") seconds = 60;
  if (unit == "h") seconds = 3600;
  constexpr double longest_s = 366.0 * 24 * 3600;
  if (error != std::errc() || seconds < 0 || !std::isfinite(number) || number < 0 || number * seconds > longest_s)
    return fail(Fault::client, "'" + std::string(text) + "' is no time: write it as 500ms, 30s, 3m or 1h");
  return from_seconds(number * seconds);
}

Result<Think> think_named(std::string_view text) {
  if (text == "none") return Think{Think::Kind::none, 0};
  if (text == "real") return Think{Think::Kind::real, 0};
  if (text.starts_with("exp:")) {
    const auto mean = duration_named(text.substr(4));
    if (mean && mean->count() > 0) return Think{Think::Kind::exponential, to_seconds(*mean)};
  }
  return fail(Fault::client,
              "'" + std::string(text) + "' is no think time: write none, real, or exp:8s for a mean of 8 s");
}

}  // namespace wg::sim
