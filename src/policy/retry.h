// Whether an attempt that came to nothing is made again, and where. Only failures of which no byte reached the client
// arrive here; 4xx, 429 and 500 are answers and pass as they are. Invariant: at most `max_retries` counted retries and
// one uncounted for each replica, so a request always ends. Pure; any thread.
#pragma once

#include <algorithm>

#include "policy/decision.h"

namespace wg::policy {

enum class Failure : std::uint8_t {
  refused,  // no connection: nothing was sent
  reset_before_head,
  stale_connection,  // a reused idle connection turned out closed: once more on the same replica, uncounted
  busy,              // 502, 503, or a server error as the first event of a stream
  engine_dead,       // EngineDeadError, an unasked abort before anything was passed on
  timed_out
};

std::string_view name_of(Failure failure);

enum class Again : std::uint8_t { same_replica, another_replica, none };

struct Attempts {
  std::uint32_t retries = 0;  // counted ones, made already
  std::uint32_t max_retries = 2;
  bool fresh_connection = false;  // this attempt is itself the repetition after a stale connection
  bool replica_up = true;         // where the attempt was made
};

Again after(Failure failure, const Attempts& attempts);

// Marks as down what a retry must not choose: the replicas tried and, if a replica of another engine is up, all of the
// engines tried: what ails one rank usually ails the process.
// A view has `replica`, `engine` and `up`.
template <class View>
void leave_out_tried(std::vector<View>& pool, std::span<const ReplicaIndex> tried) {
  const auto was_tried = [&](const View& view) {
    return std::find(tried.begin(), tried.end(), view.replica) != tried.end();
  };
  const auto engine_was_tried = [&](const View& view) {
    return std::any_of(pool.begin(), pool.end(),
                       [&](const View& other) { return other.engine == view.engine && was_tried(other); });
  };
  const bool another_engine =
      std::any_of(pool.begin(), pool.end(), [&](const View& view) { return view.up && !engine_was_tried(view); });
  for (View& view : pool)
    if (another_engine ? engine_was_tried(view) : was_tried(view)) view.up = false;
}

}  // namespace wg::policy
