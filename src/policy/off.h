// No steering: for separate replicas, what vLLM's own balancer would do with the counts of the last scrape.
// Invariant: never chooses a replica that is down; equals take turns, as the scan starts one further each time.
// Pure; any thread.
#pragma once

#include "policy/decision.h"

namespace wg::policy {

// vLLM v1/engine/core_client.py, DPLBAsyncMPClient since #49204: max(own in flight, waiting + running), plus
// waiting x 6 x max(0, KV use - 0.5). An engine without a KV gauge has no second term.
double vllm_score(const ReplicaView& view);

// `start`: counts decisions, so that the scan rotates. A candidate's in_flight is its score here.
Decision off(std::span<const ReplicaView> pool, std::uint64_t start);

}  // namespace wg::policy
