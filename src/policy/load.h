// What a policy sees of a replica: a snapshot, values only. Policies are pure functions of such snapshots.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace wg::policy {

struct ReplicaView {
  ReplicaIndex replica = no_replica;
  std::uint32_t engine = 0;  // replicas of one engine share it
  bool up = false;
  double in_flight = 0;               // ours; a fraction where an unsteered request may be on any rank
  std::optional<double> kv_usage;     // 0..1 from the last scrape
  std::uint32_t active_sessions = 0;  // homes here, active in the last sessions.active_for
  double running = 0, waiting = 0;    // the engine's own figures from the last scrape
  double threshold = 8;               // N: at most this many in flight before a session spills
  std::uint64_t identity = 0;         // of engine name and rank: the same after a restart (for the hash policy)
};

// Why a decision fell: feeds the log, the API and golden tests. Fixed size but for the candidates.
struct Candidate {
  ReplicaIndex replica = no_replica;
  double in_flight = 0, kv_step = -1, active_sessions = 0;  // the compared figures; kv_step -1: left out
  // Of `warm`, in seconds: the terms of its price and their sum, and what they were made from.
  double cost_s = -1, backlog_s = 0, prefill_s = 0, crowd_s = 0, displaced_s = 0;  // cost_s -1: not priced
  Tokens cached = {}, room = {};  // of the prompt, expected to be there; for a seat
  Tokens capacity = {};           // that seats may take, all together; 0: not known
  Tokens need = {};               // of a seat for it there, at least: worked out as far as it decides
  bool is_resident = false;       // it has a seat there already
  std::uint32_t unread = 0;       // in flight there, sent but not read yet
  bool may_take = true;           // false: it has to wait for this one ...
  const char* why_not = "";       // ... for this; a literal
};

enum class PolicyName : std::uint8_t { off, round_robin, least, hash, sticky, warm };
std::string_view name_of(PolicyName name);
std::optional<PolicyName> policy_named(std::string_view name);
inline constexpr std::string_view policy_names = "off, round-robin, least, hash, sticky, warm";

enum class Route : std::uint8_t { placed, sticky, spilled, moved, off, unsteered, waiting };
std::string_view name_of(Route route);

}  // namespace wg::policy
