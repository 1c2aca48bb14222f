#include "sim/engine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/assert.h"

namespace wg::sim {

struct Engine::Live {
  explicit Live(EngineRequest&& request)
      : id(request.id),
        tokens(std::move(request.prompt)),
        prompt_tokens(tokens.size().count),
        answer(std::move(request.answer)),
        ends_with(request.ends_with),
        arrival(request.arrival) {}

  RequestId id;
  TokenChain tokens;  // the prompt and what is generated so far
  std::int64_t prompt_tokens;
  std::vector<TokenId> answer;
  FinishReason ends_with;
  TimePoint arrival, admitted;
  std::uint32_t generated = 0;
  std::int64_t computed = 0;  // tokens with KV, the planned step's included; set anew at each admission
  std::int64_t cached = 0;    // of the first prefill
  std::vector<BlockId> blocks;
  std::size_t entered = 0;  // of those, in the cache's index
  bool was_admitted = false;

  std::int64_t size() const { return tokens.size().count; }
};

namespace {

std::int64_t blocks_for(std::int64_t tokens, std::uint32_t block_size) {
  return (tokens + block_size - 1) / block_size;
}

}  // namespace

Engine::Engine(const EngineSettings& settings) : settings_(settings), cache_(settings.num_blocks()) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Result<void> Engine::submit(EngineRequest request) {
  const std::int64_t prompt = request.prompt.size().count, most = settings_.model_len().count;
  if (prompt == 0) return fail(Fault::client, "the prompt is empty", 400);
  if (request.answer.empty()) return fail(Fault::client, "at least one token must be generated", 400);
  if (request.prompt.block_size() != settings_.block_size)
    return fail(Fault::self, "the prompt is hashed in other blocks than the engine's", 500);
  if (prompt >= most)
    return fail(Fault::client,
                "the prompt has " + std::to_string(prompt) + " tokens, the model's context is " + std::to_string(most),
                400);
  if (requests_.contains(request.id)) return fail(Fault::self, "a request with this id is still here", 500);
  if (const auto room = static_cast<std::size_t>(most - prompt); request.answer.size() > room) {
    request.answer.resize(room);
    request.ends_with = FinishReason::length;
  }
  auto live = std::make_unique<Live>(std::move(request));
  waiting_.push_back(live.get());
  requests_.emplace(live->id, std::move(live));
  return {};
}

bool Engine::abort(RequestId id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return false;
  Live* live = found->second.get();
  std::erase_if(planned_, [&](const Planned& planned) { return planned.live == live; });
  if (std::erase(running_, live) == 0) std::erase(waiting_, live);
  give_up(*live);
  requests_.erase(found);
  ++counters_.aborted;
  return true;
}

void Engine::put_cache(BlockCache cache) {
  WG_ASSERT(idle() && cache.usable() == cache_.usable() && cache.free() == cache.usable());
  cache_ = std::move(cache);
}

BlockCache Engine::take_cache() {
  WG_ASSERT(idle());
  return std::exchange(cache_, BlockCache(settings_.num_blocks()));
}

std::optional<Duration> Engine::begin_step(TimePoint now) {
  WG_ASSERT(!stepping_);
  planned_.clear();
  work_ = {};
  budget_ = settings_.max_num_batched_tokens;
  preempted_ = false;
  plan_running();
  if (!preempted_)
    while (budget_ > 0 && running_.size() < settings_.max_num_seqs && plan_waiting(now)) {
    }
  if (planned_.empty()) return std::nullopt;
  stepping_ = true;
  ++counters_.steps;
  return step_time(settings_.cost, work_);
}

void Engine::plan_running() {
  for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
    Live& live = *running_[i];
    const auto tokens = static_cast<std::uint32_t>(std::min<std::int64_t>(live.size() - live.computed, budget_));
    if (!make_room(live, tokens)) return;
    plan(live, tokens);
  }
}

// Preempts from the end until `live` has blocks for its next tokens; false when it had to go itself.
bool Engine::make_room(Live& live, std::uint32_t tokens) {
  while (!give_blocks(live, {}, tokens, false)) {
    const bool itself = running_.back() == &live;
    preempt_last();
    if (itself) return false;
  }
  return true;
}

// Admits the head of the line; false if there is none or it does not fit, for nobody goes past it.
bool Engine::plan_waiting(TimePoint now) {
  if (waiting_.empty()) return false;
  Live& live = *waiting_.front();
  hits_.clear();
  // At least the last token is computed anew: its output is the next token.
  const auto most = static_cast<std::size_t>((live.size() - 1) / settings_.block_size);
  if (settings_.prefix_caching) cache_.find_prefix(live.tokens.full_blocks(), most, hits_);
  const auto cached = static_cast<std::int64_t>(hits_.size() * settings_.block_size);
  const auto tokens = static_cast<std::uint32_t>(std::min<std::int64_t>(live.size() - cached, budget_));
  live.computed = cached;
  if (!give_blocks(live, hits_, tokens, settings_.reserve_full_isl)) return false;
  waiting_.pop_front();
  running_.push_back(&live);
  if (!live.was_admitted) {  // a preempted request's second lookup is not counted
    live.was_admitted = true;
    live.admitted = now;
    live.cached = cached;
    if (settings_.prefix_caching) {
      counters_.prefix_queries += static_cast<std::uint64_t>(live.size());
      counters_.prefix_hits += static_cast<std::uint64_t>(cached);
    }
  }
  plan(live, tokens);
  return true;
}

// Blocks for `tokens` more, after `hits` just found for a request that has none; with `whole` only if the request's
// whole sequence would fit. Full blocks can be hit from now on, although they are computed only in this step.
bool Engine::give_blocks(Live& live, std::span<const BlockId> hits, std::uint32_t tokens, bool whole) {
  const auto had = static_cast<std::int64_t>(live.blocks.size() + hits.size());
  const std::int64_t end = live.computed + tokens;
  const std::int64_t more = std::max<std::int64_t>(blocks_for(end, settings_.block_size) - had, 0);
  const std::int64_t needed = whole ? blocks_for(live.size(), settings_.block_size) - had : more;
  if (needed > 0 || !hits.empty()) {
    const auto revived = static_cast<std::int64_t>(cache_.free_among(hits));
    if (needed + revived > static_cast<std::int64_t>(cache_.free())) return false;
    cache_.hold(hits);
    live.blocks.insert(live.blocks.end(), hits.begin(), hits.end());
    live.entered += hits.size();
    cache_.take(static_cast<std::size_t>(more), live.blocks);
  }
  if (!settings_.prefix_caching) return true;
  const auto full = static_cast<std::size_t>(end / settings_.block_size);
  for (; live.entered < full; ++live.entered)
    cache_.enter(live.blocks[live.entered], live.tokens.full_blocks()[live.entered]);
  return true;
}

void Engine::plan(Live& live, std::uint32_t tokens) {
  const Tokens before{live.computed};
  if (live.generated > 0 && tokens == 1) {
    work_.decode_kv += before;
  } else {
    work_.prefill_kv += before;
    work_.prefill_tokens += Tokens{tokens};
  }
  live.computed += tokens;
  budget_ -= tokens;
  planned_.push_back({&live, tokens});
}

void Engine::preempt_last() {
  Live& victim = *running_.back();
  running_.pop_back();
  give_up(victim);
  waiting_.push_front(&victim);
  ++counters_.preemptions;
  preempted_ = true;
}

void Engine::give_up(Live& live) {
  cache_.release(live.blocks);
  live.blocks.clear();
  live.entered = 0;
}

std::span<const StepOutput> Engine::end_step() {
  WG_ASSERT(stepping_);
  stepping_ = false;
  outputs_.clear();
  bool any_finished = false;
  for (const Planned& planned : planned_) {
    Live& live = *planned.live;
    if (live.computed < live.size()) continue;  // in the middle of its prefill
    outputs_.push_back(generate(live));
    any_finished |= outputs_.back().finish != FinishReason::none;
  }
  planned_.clear();
  if (!any_finished) return outputs_;
  std::erase_if(running_, [](const Live* live) { return live->generated == live->answer.size(); });
  for (const StepOutput& output : outputs_)
    if (output.finish != FinishReason::none) requests_.erase(output.id);
  return outputs_;
}

StepOutput Engine::generate(Live& live) {
  const TokenId token = live.answer[live.generated];
  StepOutput output{live.id, token, live.generated, FinishReason::none, {live.cached}, live.arrival, live.admitted};
  live.tokens.append(token);
  ++live.generated;
  ++counters_.generation_tokens;
  if (live.generated == 1) {
    counters_.prompt_tokens += static_cast<std::uint64_t>(live.prompt_tokens);
    counters_.prompt_tokens_cached += static_cast<std::uint64_t>(live.cached);
  }
  if (live.generated == live.answer.size()) {
    output.finish = live.ends_with;
    ++(live.ends_with == FinishReason::length ? counters_.finished_length : counters_.finished_stop);
    give_up(live);
  }
  return output;
}

EngineCounters Engine::counters() const {
  EngineCounters counters = counters_;
  counters.blocks_stored = cache_.stored();
  counters.blocks_removed = cache_.removed();
  return counters;
}

}  // namespace wg::sim
