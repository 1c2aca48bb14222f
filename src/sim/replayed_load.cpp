#include "sim/replayed_load.h"

#include <algorithm>
#include <unordered_map>

#include "core/hash.h"
#include "sim/conversation.h"
#include "sim/world.h"

namespace wg::sim {
namespace {

constexpr std::uint64_t poll_tag = ~std::uint64_t{0}, head_text = 0x68656164;
constexpr std::int64_t room_for_output = 32;

class Replay final : public Clients {
 public:
  Replay(const RecordedLoad& load, const LearntEngine& engine, const fleet::Spec& spec, policy::PolicyName policy,
         std::uint64_t seed)
      : load_(load),
        engine_(engine),
        seed_(seed),
        talks_(load.sessions.size()),
        world_(world_spec(load, engine, spec, policy, seed), *this) {}

  Replayed go();
  void ended(const Answer& answer) override;
  void woken(std::uint64_t tag) override;

 private:
  // A session under way.
  struct Talk {
    std::size_t turn = 0;
    std::int64_t said = 0;  // tokens of the prompt so far, the answers included
    std::uint64_t beginnings = 0;
    Conversation conversation;
    TimePoint began;
    std::int64_t output = 0;
    std::optional<std::pair<EngineIndex, std::uint32_t>> place;  // of the turn before
  };

  static WorldSpec world_spec(const RecordedLoad& load, const LearntEngine& engine, fleet::Spec spec,
                              policy::PolicyName policy, std::uint64_t seed);
  void send(std::size_t number);
  void extend(Talk& talk, std::size_t number, std::int64_t prompt);
  void count(Talk& talk, const Answer& answer);
  void poll();

  const RecordedLoad& load_;
  const LearntEngine& engine_;
  const std::uint64_t seed_;
  std::vector<Talk> talks_;
  World world_;
  std::unordered_map<RequestId, std::size_t> asked_by_;  // looked up only
  std::size_t open_ = 0;                                 // sessions that are not over
  std::vector<double> ttfb_, times_;
  double busy_sum_ = 0, polls_ = 0, later_ = 0, stayed_ = 0, output_ = 0;
  Replayed out_;
};

// Engines that never answered in the recording have nothing to be modelled by: one rank, as the preset has it.
WorldSpec Replay::world_spec(const RecordedLoad& load, const LearntEngine& engine, fleet::Spec spec,
                             policy::PolicyName policy, std::uint64_t seed) {
  WorldSpec world;
  for (fleet::PoolSpec& pool : spec.pools) pool.policy = policy;
  for (EngineIndex e = 0; e < spec.engines.size(); ++e) {
    EngineSetup setup;
    setup.name = spec.engines[e].name;
    setup.model = spec.pools[spec.engines[e].pool].name;
    setup.settings = engine.preset.engine;
    setup.balancer = engine.preset.balancer;
    setup.network = from_seconds(engine.preset.network_s);
    setup.max_num_seqs = engine.preset.engine.max_num_seqs;
    for (const RecordedEngine& found : load.engines)
      if (found.engine == e) setup.ranks = found.ranks;
    world.engines.push_back(std::move(setup));
  }
  world.fleet = std::move(spec);
  world.seed = seed;
  return world;
}

Replayed Replay::go() {
  world_.open();
  open_ = load_.sessions.size();
  for (std::size_t i = 0; i < load_.sessions.size(); ++i)
    world_.wake(TimePoint(load_.sessions[i].turns.front().arrived - load_.began), i);
  world_.wake(TimePoint(std::chrono::seconds(1)), poll_tag);
  while (open_ > 0 && world_.run_one()) continue;

  LoopRow& row = out_.row;
  const double seconds = std::max(1e-6, to_seconds(world_.now().time_since_epoch()));
  double queries = 0, hits = 0, preemptions = 0;
  for (EngineIndex e = 0; e < load_.engines.size(); ++e)
    for (std::uint32_t rank = 0; rank < load_.engines[e].ranks; ++rank) {
      const EngineCounters one = world_.engine(load_.engines[e].engine, rank).counters();
      queries += static_cast<double>(one.prefix_queries), hits += static_cast<double>(one.prefix_hits);
      preemptions += static_cast<double>(one.preemptions);
    }
  row.sessions_per_hour = static_cast<double>(times_.size()) * 3600 / seconds;
  row.output_tokens_per_min = output_ * 60 / seconds;
  for (const double t : ttfb_) row.ttfb_mean_s += t / static_cast<double>(ttfb_.size());
  row.ttfb_p50_s = quantile(ttfb_, 0.5);
  row.ttfb_p95_s = quantile(ttfb_, 0.95);
  row.session_time_p50_s = quantile(times_, 0.5);
  row.session_time_p95_s = quantile(times_, 0.95);
  row.replicas_busy = polls_ > 0 ? busy_sum_ / polls_ : 0;
  row.prefix_hit_share = queries > 0 ? hits / queries : 0;
  row.stayed_share = later_ > 0 ? stayed_ / later_ : 1;
  row.preemptions = preemptions;
  row.digest = world_.fleet().digest();
  return out_;
}

void Replay::woken(std::uint64_t tag) {
  if (tag == poll_tag) return poll();
  send(static_cast<std::size_t>(tag));
}

void Replay::poll() {
  if (open_ > 0) world_.wake(world_.now() + std::chrono::seconds(1), poll_tag);
  busy_sum_ += world_.ranks_in_use();
  ++polls_;
}

// The prompt grows to what it was. One that became shorter begins anew behind the head, as after a compaction.
void Replay::extend(Talk& talk, std::size_t number, std::int64_t prompt) {
  const std::int64_t head = std::min(engine_.shared_head.count, prompt);
  if (talk.beginnings == 0 || prompt <= talk.said) {
    const std::uint64_t text = mix(mix(number, ++talk.beginnings), 0x7265706c);
    talk.conversation = Conversation(engine_.preset.engine.block_size, head_text, head, text);
    talk.said = head;
  }
  talk.conversation.say(prompt - talk.said);
  talk.said = prompt;
}

void Replay::send(std::size_t number) {
  const RecordedSession& session = load_.sessions[number];
  Talk& talk = talks_[number];
  const RecordedTurn& turn = session.turns[talk.turn];
  if (talk.turn == 0) talk.began = world_.now();
  const std::int64_t longest = engine_.preset.engine.model_len().count - room_for_output;
  if (turn.prompt.count > longest) ++out_.shortened;
  extend(talk, number, std::clamp<std::int64_t>(turn.prompt.count, 1, longest));
  talk.output = std::clamp<std::int64_t>(turn.output.count, 1, longest + room_for_output - talk.said);
  Question question;
  question.asked.pool = session.pool;
  question.asked.kind = session.kind;
  question.asked.session = session.session;
  question.asked.lineage = session.lineage;
  question.asked.parent = session.parent;
  question.asked.prompt_estimate = talk.conversation.prompt().size();
  question.prompt = talk.conversation.prompt();
  question.answer = talk.conversation.answer_of(talk.output);
  asked_by_[world_.ask(std::move(question))] = number;
}

void Replay::ended(const Answer& answer) {
  const auto found = asked_by_.find(answer.request);
  const std::size_t number = found->second;
  asked_by_.erase(found);
  const RecordedSession& session = load_.sessions[number];
  Talk& talk = talks_[number];
  count(talk, answer);
  talk.conversation.hear(talk.conversation.answer_of(talk.output));
  talk.said += talk.output;
  const RecordedTurn& before = session.turns[talk.turn];
  if (++talk.turn == session.turns.size()) {
    times_.push_back(to_seconds(world_.now() - talk.began));
    --open_;
    return;
  }
  const Duration pause = std::max(session.turns[talk.turn].arrived - before.ended, Duration{});
  world_.wake(world_.now() + pause, number);
}

void Replay::count(Talk& talk, const Answer& answer) {
  ++out_.row.turns;
  if (answer.outcome != fleet::Outcome::ok || answer.status != 200) ++out_.row.failures;
  if (answer.first_content) ttfb_.push_back(to_seconds(*answer.first_content - answer.arrived));
  output_ += static_cast<double>(answer.output.count);
  const std::pair place(answer.engine, answer.rank);
  if (talk.place) ++later_, stayed_ += *talk.place == place ? 1 : 0;
  talk.place = place;
}

}  // namespace

Replayed replay_load(const RecordedLoad& load, const LearntEngine& engine, fleet::Spec spec, policy::PolicyName policy,
                     std::uint64_t seed) {
  return Replay(load, engine, spec, policy, seed).go();
}

}  // namespace wg::sim
