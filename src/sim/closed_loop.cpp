#include "sim/closed_loop.h"

#include <algorithm>
#include <unordered_map>

#include "core/hash.h"
#include "sim/conversation.h"
#include "sim/world.h"

namespace wg::sim {

namespace {

// How an answer ends that its session waits behind: what the gateway reads off the stop reason.
fleet::AnswerEnd end_before(WaitsFor what) {
  switch (what) {
    case WaitsFor::tool:
      return fleet::AnswerEnd::tool_call;
    case WaitsFor::human:
      return fleet::AnswerEnd::turn;
    case WaitsFor::unknown:
      break;
  }
  return fleet::AnswerEnd::unknown;
}

constexpr std::uint64_t poll_tag = ~std::uint64_t{0};

class Loop final : public Clients {
 public:
  Loop(const LoopRun& run, std::vector<BlockCache> warm)
      : run_(run), work_(work_of(run)), world_(spec_of(run), *this), slots_(run.sessions) {
    if (!warm.empty()) world_.warm_up(0, std::move(warm));
  }

  LoopResult go();

  void ended(const Answer& answer) override;
  void woken(std::uint64_t tag) override;

 private:
  // One client: its session under way.
  struct Slot {
    std::uint64_t n = 0;  // sessions begun
    SessionPlan plan;
    Conversation talk;
    std::size_t turn = 0;
    TimePoint began;
    std::uint32_t before = 0;  // rank of the turn before
  };

  static WorldSpec spec_of(const LoopRun& run) {
    WorldSpec spec = world_of(run.preset, 1, run.ranks, run.policy);
    spec.seed = run.seed;
    spec.fleet.pools.front().spill_threshold = run.spill_threshold;
    spec.fleet.pools.front().warm = run.rules;
    for (EngineSetup& engine : spec.engines) engine.tells = run.tells;
    return spec;
  }
  static Workload work_of(const LoopRun& run) {
    if (run.work) return *run.work;
    Workload work;
    work.load = run.preset.load;
    return work;
  }
  bool measuring() const { return world_.now() >= TimePoint(run_.warmup); }
  void begin_session(std::uint32_t client);
  void send_turn(std::uint32_t client);
  void count(const Slot& slot, const Answer& answer);
  void poll();
  EngineCounters totals() const;

  const LoopRun& run_;
  const Workload work_;
  World world_;
  std::vector<Slot> slots_;
  std::unordered_map<RequestId, std::uint32_t> asked_by_;  // looked up only
  std::vector<double> ttfb_, session_times_, waits_;
  std::vector<LoopSample> samples_;
  EngineCounters polled_;  // at the poll before
  double busy_sum_ = 0, polls_ = 0, later_turns_ = 0, stayed_ = 0;
  LoopRow row_;
};

LoopResult Loop::go() {
  world_.open();
  for (std::uint32_t client = 0; client < run_.sessions; ++client)
    world_.wake(TimePoint(first_start(work_.load, client)), client);
  world_.wake(TimePoint(std::chrono::seconds(1)), poll_tag);
  world_.run_until(TimePoint(run_.warmup));
  const EngineCounters before = polled_ = totals();
  world_.run_until(TimePoint(run_.warmup + run_.step));
  const EngineCounters after = totals();

  const double step_s = to_seconds(run_.step);
  row_.sessions_per_hour = static_cast<double>(session_times_.size()) * 3600 / step_s;
  for (const double t : ttfb_) row_.ttfb_mean_s += t / static_cast<double>(ttfb_.size());
  row_.ttfb_p50_s = quantile(ttfb_, 0.5);
  row_.ttfb_p95_s = quantile(ttfb_, 0.95);
  row_.session_time_p50_s = quantile(session_times_, 0.5);
  row_.session_time_p95_s = quantile(session_times_, 0.95);
  row_.wait_p95_s = quantile(waits_, 0.95);
  row_.replicas_busy = polls_ > 0 ? busy_sum_ / polls_ : 0;
  const auto queries = static_cast<double>(after.prefix_queries - before.prefix_queries);
  row_.prefix_hit_share = queries > 0 ? static_cast<double>(after.prefix_hits - before.prefix_hits) / queries : 0;
  row_.stayed_share = later_turns_ > 0 ? stayed_ / later_turns_ : 1;
  row_.output_tokens_per_min = static_cast<double>(after.generation_tokens - before.generation_tokens) * 60 / step_s;
  row_.preemptions = static_cast<double>(after.preemptions - before.preemptions);
  row_.digest = world_.fleet().digest();
  return {row_, std::move(samples_), world_.take_caches(0)};
}

EngineCounters Loop::totals() const {
  EngineCounters sum;
  for (std::uint32_t rank = 0; rank < run_.ranks; ++rank) {
    const EngineCounters one = world_.engine(0, rank).counters();
    sum.prefix_queries += one.prefix_queries;
    sum.prefix_hits += one.prefix_hits;
    sum.preemptions += one.preemptions;
    sum.generation_tokens += one.generation_tokens;
    sum.prompt_tokens += one.prompt_tokens;
    sum.prompt_tokens_cached += one.prompt_tokens_cached;
  }
  return sum;
}

void Loop::woken(std::uint64_t tag) {
  if (tag == poll_tag) return poll();
  const auto client = static_cast<std::uint32_t>(tag);
  Slot& slot = slots_[client];
  if (slot.turn == 0)
    begin_session(client);
  else
    send_turn(client);
}

void Loop::poll() {
  world_.wake(world_.now() + std::chrono::seconds(1), poll_tag);
  if (!measuring()) return;
  LoopSample& sample = samples_.emplace_back();
  sample.at_s = to_seconds(world_.now() - TimePoint(run_.warmup));
  sample.busy = world_.ranks_in_use();
  const EngineCounters seen = totals();
  sample.cached_tokens = static_cast<double>(seen.prompt_tokens_cached - polled_.prompt_tokens_cached);
  sample.computed_tokens = static_cast<double>(seen.prompt_tokens - polled_.prompt_tokens) - sample.cached_tokens;
  polled_ = seen;
  for (std::uint32_t rank = 0; rank < run_.ranks; ++rank) sample.kv_usage.push_back(world_.engine(0, rank).kv_usage());
  busy_sum_ += sample.busy;
  ++polls_;
}

void Loop::begin_session(std::uint32_t client) {
  Slot& slot = slots_[client];
  slot.plan = session_of(work_, run_.seed, client, slot.n++);
  slot.talk = Conversation(run_.preset.engine.block_size, mix(mix(0x68656164, run_.seed), slot.plan.head_text),
                           slot.plan.head, slot.plan.text);
  slot.began = world_.now();
  send_turn(client);
}

void Loop::send_turn(std::uint32_t client) {
  Slot& slot = slots_[client];
  const TurnPlan& turn = slot.plan.turns[slot.turn];
  slot.talk.rewind(turn.keep);
  slot.talk.say(turn.added);
  Question question;
  question.asked.session = question.asked.lineage = SessionKey{slot.plan.text, 1};
  question.asked.prompt_estimate = slot.talk.prompt().size();
  question.asked.head = SessionKey{slot.plan.head_text, static_cast<std::uint64_t>(slot.plan.head) + 1};
  question.then = end_before(turn.then);
  const bool is_last = slot.turn + 1 == slot.plan.turns.size();
  if (run_.knows_gaps && !is_last) question.pause = turn.pause;
  question.asked.ends_session = run_.knows_ends && is_last;
  question.prompt = slot.talk.prompt();
  question.answer = slot.talk.answer_of(turn.output);
  asked_by_[world_.ask(std::move(question))] = client;
}

void Loop::ended(const Answer& answer) {
  const auto found = asked_by_.find(answer.request);
  const std::uint32_t client = found->second;
  asked_by_.erase(found);
  Slot& slot = slots_[client];
  if (measuring()) count(slot, answer);
  const TurnPlan& turn = slot.plan.turns[slot.turn];
  slot.talk.hear(slot.talk.answer_of(turn.output));
  slot.before = answer.rank;
  const bool over = ++slot.turn == slot.plan.turns.size();
  if (over) {
    slot.turn = 0;
    if (measuring()) session_times_.push_back(to_seconds(world_.now() - slot.began));
  }
  world_.wake(world_.now() + turn.pause, client);
}

void Loop::count(const Slot& slot, const Answer& answer) {
  ++row_.turns;
  if (answer.outcome != fleet::Outcome::ok || answer.status != 200) ++row_.failures;
  if (answer.dispatched) waits_.push_back(to_seconds(*answer.dispatched - answer.arrived));
  if (answer.first_content) ttfb_.push_back(to_seconds(*answer.first_content - answer.arrived));
  if (slot.turn == 0) return;
  ++later_turns_;
  if (answer.rank == slot.before) ++stayed_;
}

}  // namespace

LoopResult follow_closed_loop(const LoopRun& run, std::vector<BlockCache> warm) {
  return Loop(run, std::move(warm)).go();
}
LoopRow run_closed_loop(const LoopRun& run) { return follow_closed_loop(run).row; }

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto at = std::min(static_cast<std::size_t>(static_cast<double>(values.size()) * share), values.size() - 1);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace wg::sim
