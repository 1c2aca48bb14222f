#include "app/advise.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "fleet/fleet.h"

namespace wg::app {
namespace {

// What a session of the load keeps in a cache.
struct SessionSize {
  double own = 0;  // tokens at the end of a turn, on average, without what all share
  std::int64_t shared = 0, longest = 0;
};

SessionSize size_of(const SimulatePlan& plan) {
  constexpr std::uint32_t sampled = 400;
  const sim::Workload& work = *plan.run.work;
  double sum = 0, turns = 0;
  SessionSize size;
  std::set<std::uint64_t> heads;
  std::int64_t head = 0;
  for (std::uint32_t client = 0; client < sampled; ++client) {
    const sim::SessionPlan session = sim::session_of(work, plan.run.seed, client, 1);
    heads.insert(session.head_text);
    head = session.head;
    std::int64_t context = session.head;
    for (const sim::TurnPlan& turn : session.turns) {
      context = std::min(context, turn.keep) + turn.added + turn.output;
      size.longest = std::max(size.longest, context);
      sum += static_cast<double>(context);
      ++turns;
    }
  }
  size.shared = heads.size() == 1 ? head : 0;
  size.own = std::max(sum / std::max(turns, 1.0) - static_cast<double>(size.shared), 1.0);
  return size;
}

// As Fleet::warm_pool reckons with sessions that are there.
fleet::WarmPoolState pool_of(const SimulatePlan& plan, const SessionSize& size, std::uint32_t sessions, bool is_8_bit) {
  const std::int64_t heads = size.shared * plan.run.ranks;
  fleet::WarmPoolState pool;
  pool.active = sessions;
  pool.capacity = {plan.run.preset.engine.kv_tokens.count * plan.run.ranks};
  pool.working_set = {static_cast<std::int64_t>(size.own * sessions) + heads};
  const auto room = static_cast<double>(std::max<std::int64_t>(pool.capacity.count - heads, 0));
  pool.fit = static_cast<std::uint32_t>(room / size.own);
  pool.kv_is_8_bit = is_8_bit;
  return pool;
}

// Of this machine, so that all would fit; 0: a replica holds none.
std::uint32_t replicas_for(const SimulatePlan& plan, const SessionSize& size, std::uint32_t sessions) {
  const auto room = static_cast<double>(plan.run.preset.engine.kv_tokens.count - size.shared);
  if (room < size.own) return 0;
  return static_cast<std::uint32_t>(std::ceil(size.own * sessions / room));
}

std::string thousands(double tokens) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1fk", tokens / 1000);
  return text;
}

std::string member(const char* name, std::int64_t value) {
  return std::string(",\"") + name + "\":" + std::to_string(value);
}

}  // namespace

std::string advice_on(const SimulatePlan& plan, bool kv_is_8_bit, bool json) {
  const SessionSize size = size_of(plan);
  std::string rows;
  std::string text = plan.target + ": a session keeps " + thousands(size.own) + " tokens of its own on average (" +
                     thousands(static_cast<double>(size.longest)) + " at most, with all), and shares " +
                     thousands(static_cast<double>(size.shared)) + " with the others\n";
  for (const std::uint32_t sessions : plan.sessions) {
    const fleet::WarmPoolState pool = pool_of(plan, size, sessions, kv_is_8_bit);
    const std::uint32_t needed = replicas_for(plan, size, sessions);
    const std::string words = fleet::advice(pool);
    text += std::to_string(sessions) + " sessions: " + words;
    if (needed == 0)
      text += "; no replica holds one session";
    else if (needed > plan.run.ranks)
      text += "; " + std::to_string(needed) + " replicas would hold all";
    text += "\n";
    rows += std::string(rows.empty() ? "" : ",\n ") + "{\"target\":\"" + plan.target + "\"" +
            member("sessions", sessions) + member("sessions_fit", pool.fit) +
            member("working_set_tokens", pool.working_set.count) + member("kv_tokens", pool.capacity.count) +
            member("session_tokens", static_cast<std::int64_t>(size.own)) + member("shared_tokens", size.shared) +
            ",\"replicas_for_all\":" + (needed > 0 ? std::to_string(needed) : "null") + ",\"advice\":\"" + words +
            "\"}";
  }
  return json ? "{\"rows\":[" + rows + "]}\n" : text;
}

}  // namespace wg::app
