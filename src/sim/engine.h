// One engine rank, step by step, as vLLM's scheduler plans them: running requests first, chunked prefill in a token
// budget, first-come admission, preemption of the last. No clock: the driver calls begin_step, lets the returned time
// pass, and calls end_step. Owner: one driver.
// Invariants: the same calls give the same answers; every submitted request ends exactly once, finished or aborted.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "core/units.h"
#include "sim/block_cache.h"
#include "sim/engine_settings.h"
#include "sim/token_chain.h"

namespace wg::sim {

enum class FinishReason : std::uint8_t { none, stop, length };

struct EngineRequest {
  RequestId id = 0;
  TokenChain prompt;                            // with the engine's block size
  std::vector<TokenId> answer;                  // what it will generate, one token after the other; at least one
  FinishReason ends_with = FinishReason::stop;  // after the last of them
  TimePoint arrival;
};

// One generated token.
struct StepOutput {
  RequestId id = 0;
  TokenId token = 0;
  std::uint32_t index = 0;                   // 0: the first token
  FinishReason finish = FinishReason::none;  // not none: this was the last
  Tokens cached;                             // prompt tokens found in the cache at the first admission
  TimePoint arrival, admitted;               // admitted: begin of the first step it was part of
};

// Counted as vLLM's Prometheus counters of the same names.
struct EngineCounters {
  std::uint64_t prefix_queries = 0, prefix_hits = 0;  // tokens; once per request, at its first admission
  std::uint64_t preemptions = 0;
  std::uint64_t prompt_tokens = 0, prompt_tokens_cached = 0;  // at the first token
  std::uint64_t generation_tokens = 0;
  std::uint64_t finished_stop = 0, finished_length = 0;
  std::uint64_t aborted = 0;  // vLLM does not count a client that went away
  std::uint64_t steps = 0;
  std::uint64_t blocks_stored = 0, blocks_removed = 0;
};

class Engine {
 public:
  explicit Engine(const EngineSettings& settings);  // settings that passed `checked`
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Queues it. Fails (400) on an empty prompt or answer, a prompt that leaves no room for an answer, another block
  // size, an id that is still here. An answer beyond max_model_len is cut there and ends with `length`.
  Result<void> submit(EngineRequest request);

  // Ends it now, also in the middle of a step; its blocks are free at once and can still be hit. False if unknown.
  bool abort(RequestId id);

  // Plans a step and takes its blocks. How long it lasts, or nothing if there is nothing to do.
  // Not between begin_step and end_step.
  std::optional<Duration> begin_step(TimePoint now);

  // The step is over: one output for each request that has all its tokens computed, in the order they were planned.
  // Valid until the next call.
  std::span<const StepOutput> end_step();

  bool stepping() const { return stepping_; }
  bool idle() const { return requests_.empty(); }
  std::size_t running() const { return running_.size(); }  // admitted, also in the middle of a prefill
  std::size_t waiting() const { return waiting_.size(); }  // with the preempted ones
  double kv_usage() const { return cache_.usage(); }       // 0..1: blocks held by requests
  EngineCounters counters() const;
  const EngineSettings& settings() const { return settings_; }
  const BlockCache& cache() const { return cache_; }

  // The memory of another engine of the same size, or this one's for another. Only while it is idle.
  void put_cache(BlockCache cache);
  BlockCache take_cache();

  bool reset_prefix_cache() { return cache_.forget_all(); }  // false while a request holds a block

 private:
  struct Live;
  struct Planned {
    Live* live;
    std::uint32_t tokens;
  };

  void plan_running();
  bool plan_waiting(TimePoint now);
  bool make_room(Live& live, std::uint32_t tokens);
  bool give_blocks(Live& live, std::span<const BlockId> hits, std::uint32_t tokens, bool whole);
  void preempt_last();
  void give_up(Live& live);
  void plan(Live& live, std::uint32_t tokens);
  StepOutput generate(Live& live);

  EngineSettings settings_;
  BlockCache cache_;
  EngineCounters counters_;
  std::unordered_map<RequestId, std::unique_ptr<Live>> requests_;  // looked up only, never iterated
  std::vector<Live*> running_;                                     // in order of admission
  std::deque<Live*> waiting_;
  std::vector<Planned> planned_;
  std::vector<StepOutput> outputs_;
  std::vector<BlockId> hits_;  // reused by lookups
  StepWork work_;
  std::uint32_t budget_ = 0;
  bool preempted_ = false;  // in this step: then nobody is admitted
  bool stepping_ = false;
};

}  // namespace wg::sim
