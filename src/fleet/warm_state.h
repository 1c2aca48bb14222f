// What the API, `warmgate status` and the logs show of `warm`: learnt facts and seats of each replica, the queue of a
// pool, and what limits it, in words. Values only; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace wg::fleet {

struct WarmReplicaState {
  ReplicaIndex index = no_replica;
  std::uint32_t seats = 0, seats_idle = 0, unread = 0;
  Tokens seat_tokens;              // of all seats, shared heads once
  std::optional<Tokens> told;      // of its cache, by the engine or the configuration
  std::optional<Tokens> capacity;  // C: what seats may take of it
  bool is_learnt = false;          // ... as nobody told
  double share = 1;                // ... after the safety net
  std::uint64_t steps_down = 0;    // that it took
  bool keeps_prefixes = true;
  std::uint64_t told_by_answer = 0, told_by_counters = 0;  // turns whose cached tokens are known
  Tokens shadow_tokens;                                    // what its cache should hold
  std::uint64_t copies = 0;                                // ... of so many contexts and heads
  double prefill_tokens_per_s = 0, attention_s = 0, base_s = 0;
  std::uint64_t prefill_samples = 0;
  double hit_service_s = 0, decode_s = 0, backlog_s = 0;
  double break_even_s = 0;  // g*, of a context of the usual length; 0: nothing is known yet
  Tokens output, growth, hit_step;
  std::uint64_t hits_expected = 0, hits_missed = 0;
  std::uint64_t emptied = 0;  // by restarts that its counters showed
};

struct WarmPoolState {
  std::size_t waiting = 0;
  double longest_wait_s = 0;
  std::uint32_t active = 0;    // lineages with a turn in flight or waiting, or that ended one a short time ago
  Tokens working_set;          // their contexts, shared heads once a replica
  Tokens capacity;             // of all replicas that are up
  std::uint32_t fit = 0;       // contexts of that size that fit at a time
  bool keeps_prefixes = true;  // at least one of them does
  bool kv_is_8_bit = false;    // in all of them: an fp8 KV cache would gain nothing
  struct Ratio {
    std::uint32_t dialect = 0;
    double tokens_per_byte = 0;
    std::uint64_t samples = 0;
  };
  std::vector<Ratio> ratios;  // of those dialects that were met
};

// System text and tools that lineages share, by their hash.
struct HeadState {
  SessionKey key;
  Tokens size;                 // as found cached by lineages that were new on a replica
  std::uint32_t replicas = 0;  // whose caches should hold all of it
};

// "working set 312k tokens, cache 136k: 13 sessions fit, 24 are active; fp8 KV would fit 26"
std::string advice(const WarmPoolState& pool);

}  // namespace wg::fleet
