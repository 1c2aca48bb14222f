#include "sim/recorded_load.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

namespace wg::sim {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Follows the recorded events, and what the fleet decides on them once more.
class Follower {
 public:
  explicit Follower(const fleet::Recording& recording) : recording_(recording), fleet_(recording.spec) {}

  RecordedLoad follow() {
    for (const fleet::RecordedStep& step : recording_.steps) {
      now_ = step.at;
      std::visit([this](const auto& event) { on(event); }, step.event);
      for (const fleet::Command& command : fleet_.step(step.event, step.at))
        if (const auto* const dispatch = std::get_if<fleet::Dispatch>(&command)) dispatched(*dispatch);
      load_.ended = now_;
    }
    load_.left_out += open_.size();
    for (PoolIndex p = 0; p < recording_.spec.pools.size(); ++p) load_.policies.push_back(fleet_.pool(p).policy);
    std::stable_sort(load_.sessions.begin(), load_.sessions.end(),
                     [](const auto& a, const auto& b) { return a.turns.front().arrived < b.turns.front().arrived; });
    if (!load_.sessions.empty()) load_.began = load_.sessions.front().turns.front().arrived;
    row();
    return std::move(load_);
  }

 private:
  struct Open {
    fleet::RequestArrived asked;
    RecordedTurn turn;
  };

  template <class Other>
  void on(const Other&) {}
  void on(const fleet::EngineFound& found) {
    const auto same = [&](const RecordedEngine& engine) { return engine.engine == found.engine; };
    std::erase_if(load_.engines, same);
    load_.engines.push_back({found.engine, found.ranks, found.max_concurrent, found.kv_capacity});
    std::sort(load_.engines.begin(), load_.engines.end(),
              [](const RecordedEngine& a, const RecordedEngine& b) { return a.engine < b.engine; });
  }
  void on(const fleet::RequestArrived& asked) {
    Open& open = open_[asked.request];
    open.asked = asked;
    open.turn.arrived = now_;
    open.turn.prompt = asked.prompt_estimate;
  }
  void dispatched(const fleet::Dispatch& dispatch) {
    const auto found = open_.find(dispatch.request);
    if (found == open_.end()) return;
    RecordedTurn& turn = found->second.turn;
    leave(found->second);  // a retry
    if (!turn.dispatched) turn.dispatched = now_;
    turn.replica = dispatch.replica;
    count_busy();
    turn.was_alone = in_flight_[dispatch.replica]++ == 0;
    std::set<RequestId>& others = prefilling_[dispatch.replica];
    turn.prefilled_alone = others.empty();
    for (const RequestId other : others) open_[other].turn.prefilled_alone = false;
    others.insert(dispatch.request);
  }
  void leave(Open& open) {
    if (open.turn.replica == no_replica) return;
    count_busy();
    prefilling_[open.turn.replica].erase(open.asked.request);
    const auto there = in_flight_.find(open.turn.replica);
    if (--there->second == 0) in_flight_.erase(there);
    open.turn.replica = no_replica;
  }
  void count_busy() {
    busy_seconds_ += static_cast<double>(in_flight_.size()) * to_seconds(now_ - busy_since_);
    busy_since_ = now_;
  }
  void on(const fleet::FirstContent& first) {
    const auto open = open_.find(first.request);
    if (open == open_.end()) return;
    RecordedTurn& turn = open->second.turn;
    turn.first_content = now_;
    prefilling_[turn.replica].erase(first.request);
    for (const RequestId other : prefilling_[turn.replica]) open_[other].turn.read_behind = now_;
  }
  void on(const fleet::UsageReported& usage) {
    const auto open = open_.find(usage.request);
    if (open == open_.end()) return;
    RecordedTurn& turn = open->second.turn;
    turn.measured = usage.measured;
    turn.cached_measured = usage.cached_measured;
    if (usage.measured) turn.prompt = usage.prompt, turn.cached = usage.cached;
    turn.output = usage.output;
  }
  void on(const fleet::Finished& finished) {
    const auto found = open_.find(finished.request);
    if (found == open_.end()) return;
    Open open = std::move(found->second);
    const ReplicaIndex replica = open.turn.replica;
    leave(open);
    open_.erase(found);
    open.turn.replica = replica;
    open.turn.ended = now_;
    open.turn.outcome = finished.outcome;
    if (open.asked.kind == fleet::RequestClass::untracked || open.asked.must_be_pinned) {
      ++load_.left_out;
      return;
    }
    session_of(open.asked).turns.push_back(open.turn);
  }
  RecordedSession& session_of(const fleet::RequestArrived& asked) {
    if (asked.lineage) {
      const auto [known, is_new] = by_lineage_.emplace(std::pair(asked.pool, asked.lineage), load_.sessions.size());
      if (!is_new) return load_.sessions[known->second];
    }
    RecordedSession& session = load_.sessions.emplace_back();
    session.session = asked.session;
    session.lineage = asked.lineage;
    session.parent = asked.parent;
    session.pool = asked.pool;
    session.kind = asked.kind;
    return session;
  }
  void row();

  const fleet::Recording& recording_;
  fleet::Fleet fleet_;
  TimePoint now_{}, busy_since_{};
  double busy_seconds_ = 0;
  std::map<RequestId, Open> open_;
  std::map<ReplicaIndex, std::uint32_t> in_flight_;         // none at 0
  std::map<ReplicaIndex, std::set<RequestId>> prefilling_;  // sent there, without a first token yet
  std::map<std::pair<PoolIndex, SessionKey>, std::size_t> by_lineage_;
  RecordedLoad load_;
};

void Follower::row() {
  LoopRow& row = load_.as_it_was;
  std::vector<double> ttfb, waits, times;
  double prompt = 0, cached = 0, output = 0, later = 0, stayed = 0;
  bool cached_told = false, left_to_engine = false;
  std::set<ReplicaIndex> without_rank;  // where it is left to the engine
  for (const auto& replica : fleet_.replicas(now_))
    if (!replica.rank) without_rank.insert(replica.index);
  for (RecordedSession& session : load_.sessions) {
    std::stable_sort(session.turns.begin(), session.turns.end(),
                     [](const RecordedTurn& a, const RecordedTurn& b) { return a.arrived < b.arrived; });
    const RecordedTurn* before = nullptr;
    for (const RecordedTurn& turn : session.turns) {
      ++row.turns;
      if (turn.outcome != fleet::Outcome::ok && turn.outcome != fleet::Outcome::client_gone) ++row.failures;
      if (turn.first_content) ttfb.push_back(to_seconds(*turn.first_content - turn.arrived));
      if (turn.dispatched) waits.push_back(to_seconds(*turn.dispatched - turn.arrived));
      cached_told = cached_told || turn.cached_measured;
      if (turn.measured)
        prompt += static_cast<double>(turn.prompt.count), cached += static_cast<double>(turn.cached.count);
      output += static_cast<double>(turn.output.count);
      left_to_engine = left_to_engine || without_rank.contains(turn.replica);
      if (before && !without_rank.contains(turn.replica)) ++later, stayed += turn.replica == before->replica ? 1 : 0;
      before = &turn;
    }
    times.push_back(to_seconds(session.turns.back().ended - session.turns.front().arrived));
  }
  const double seconds = std::max(1e-6, to_seconds(load_.ended - load_.began));
  row.sessions_per_hour = static_cast<double>(load_.sessions.size()) * 3600 / seconds;
  row.output_tokens_per_min = output * 60 / seconds;
  for (const double t : ttfb) row.ttfb_mean_s += t / static_cast<double>(ttfb.size());
  row.ttfb_p50_s = quantile(ttfb, 0.5);
  row.ttfb_p95_s = quantile(ttfb, 0.95);
  row.replicas_busy = left_to_engine ? unknown : busy_seconds_ / seconds;
  row.prefix_hit_share = cached_told && prompt > 0 ? cached / prompt : unknown;
  row.stayed_share = later > 0 ? stayed / later : unknown;
  row.session_time_p50_s = quantile(times, 0.5);
  row.session_time_p95_s = quantile(times, 0.95);
  row.wait_p95_s = quantile(waits, 0.95);
  row.preemptions = unknown;
}

}  // namespace

RecordedLoad load_of(const fleet::Recording& recording) { return Follower(recording).follow(); }

}  // namespace wg::sim
