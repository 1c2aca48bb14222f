// The fields of everything that a recording holds, in the order in which they are written. A structured binding names
// every member, so a struct that grows does not compile until its new member is recorded too. Values only.
#pragma once

#include <tuple>

#include "fleet/fleet.h"

namespace wg::fleet {

// recorded_name(e): the word that stands for the event's kind. fields_of(e): references to its members.
#define WG_RECORDED(TYPE, NAME, ...)                                       \
  inline constexpr const char* recorded_name(const TYPE&) { return NAME; } \
  inline auto fields_of(TYPE& recorded) {                                  \
    auto& [__VA_ARGS__] = recorded;                                        \
    return std::tie(__VA_ARGS__);                                          \
  }                                                                        \
  inline auto fields_of(const TYPE& recorded) {                            \
    const auto& [__VA_ARGS__] = recorded;                                  \
    return std::tie(__VA_ARGS__);                                          \
  }

// clang-format off
WG_RECORDED(EngineFound, "engine-found", engine, pool, model, ranks, steerable, max_concurrent, kv_capacity,
            prefix_caching, kv_is_8_bit)
WG_RECORDED(ReplicaSampled, "sampled", engine, rank, running, waiting, kv_usage, prefix_queries, prefix_hits, preemptions)
WG_RECORDED(ProbeGood, "probe-good", engine)
WG_RECORDED(ProbeBad, "probe-bad", engine, refused)
WG_RECORDED(RequestArrived, "arrived", request, pool, session, lineage, parent, kind, prompt_estimate, steerable_path,
            pinned_to_response, must_be_pinned, head, text_bytes, dialect, client, ends_session)
WG_RECORDED(AttemptFailed, "attempt-failed", request, failure)
WG_RECORDED(FirstByte, "first-byte", request)
WG_RECORDED(FirstContent, "first-content", request)
WG_RECORDED(ResponseMade, "response-made", request, response)
WG_RECORDED(Finished, "finished", request, outcome)
WG_RECORDED(SessionReleased, "session-released", pool, session)
WG_RECORDED(TimerFired, "timer", timer)
WG_RECORDED(PolicyChanged, "policy-changed", pool, policy, spill_threshold)
WG_RECORDED(EngineSpec, "engine", name, pool)
// clang-format on
#undef WG_RECORDED

// Without the pause: nobody but the simulator knows one.
inline constexpr const char* recorded_name(const UsageReported&) { return "usage"; }
inline auto fields_of(UsageReported& event) {
  auto& [request, prompt, cached, output, measured, cached_measured, end, tool, pause] = event;
  return std::tie(request, prompt, cached, output, measured, cached_measured, end, tool);
}
inline auto fields_of(const UsageReported& event) { return fields_of(const_cast<UsageReported&>(event)); }

// Of `warm` only what can be configured: a recording is made in service, where all its rules are in force.
inline constexpr const char* recorded_name(const PoolSpec&) { return "pool"; }
inline auto fields_of(PoolSpec& spec) {
  auto& [name, policy, spill_threshold, spill_rehome, warm] = spec;
  return std::tie(name, policy, spill_threshold, spill_rehome, warm.mode, warm.max_wait);
}
inline auto fields_of(const PoolSpec& spec) { return fields_of(const_cast<PoolSpec&>(spec)); }

// The last value of each kind of word that is recorded as a number.
constexpr int last_of(RequestClass) { return static_cast<int>(RequestClass::untracked); }
constexpr int last_of(ClientKind) { return static_cast<int>(ClientKind::chat); }
constexpr int last_of(AnswerEnd) { return static_cast<int>(AnswerEnd::cut); }
constexpr int last_of(policy::WarmMode) { return static_cast<int>(policy::WarmMode::fair_tail); }
constexpr int last_of(Failure) { return static_cast<int>(Failure::timed_out); }
constexpr int last_of(Outcome) { return static_cast<int>(Outcome::refused_by_us); }
constexpr int last_of(policy::PolicyName) {
  int commas = 0;
  for (const char c : policy::policy_names) commas += c == ',' ? 1 : 0;
  return commas;
}

// All of a spec but its pools and engines, which have lines of their own.
inline auto fields_of(Spec& spec) {
  auto& [pools, engines, session_limit, active_for, probe_up, probe_down, dying_for, assumed_threshold, max_retries] =
      spec;
  return std::tie(session_limit, active_for, probe_up, probe_down, dying_for, assumed_threshold, max_retries);
}
inline auto fields_of(const Spec& spec) { return fields_of(const_cast<Spec&>(spec)); }

}  // namespace wg::fleet
