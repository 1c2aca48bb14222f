// Random loads on `warm`: nobody waits for ever, no replica idles beside a queue, seats stay within the cache except by
// the stated rules, and everything is empty at the end.
#include <rapidcheck.h>

#include "core/rng.h"
#include "fleet/warm_test_world.h"

namespace wg::fleet {

namespace {
// The rules by which a seat may go beyond the cache: a resident's next turn, and whoever is alone there.
bool keeps_within(const std::string& rule) { return rule == "seat: the cheapest" || rule == "move: cheaper than home"; }

class Load {
 public:
  Load(std::uint64_t seed, std::uint32_t engines, std::uint64_t sessions, WarmRules rules)
      : rng_(seed),
        w_(engines, rules),
        waits_for_home_(rules.wait_for_home),
        engines_(engines),
        contexts_(sessions),
        busy_(sessions, 0) {
    for (std::int64_t& context : contexts_) context = rng_.between(500, 20'000);
    if (rng_.uniform() < 0.3) contexts_[0] = 40'000;  // larger than a cache
  }

  void act(std::uint32_t choice) {
    w_.pass(Millis(rng_.between(1, 1500)));
    settle();
    const std::uint32_t what = choice % 100;
    if (what < 45)
      come();
    else if (what < 85)
      answer();
    else if (what < 90)
      go_away();
    else if (what < 94)
      fail();
    else
      health();
    check();
  }

  void end_all() {
    for (EngineIndex e = 0; e < engines_; ++e) w_.step(ProbeGood{e});
    for (int round = 0; round < 1000 && !w_.turns.empty(); ++round) {
      answer();
      w_.pass(1s);
      for (const Reject& reject : std::exchange(w_.rejected, {})) end_rejected(reject.request);
    }
    RC_ASSERT(w_.turns.empty());
    RC_ASSERT(w_.waiting() == 0u);
    RC_ASSERT(w_.d.fleet.requests_known() == 0u);
    RC_ASSERT(w_.d.in_flight() == 0u);
    w_.pass(200s);
    // With nothing in flight. What is in use may exceed it: a head that fills a cache, and somebody who asks with it.
    for (const WarmReplicaState& row : w_.d.fleet.warm_replicas(w_.d.now))
      RC_ASSERT(row.shadow_tokens <= Tokens{WarmWorld::capacity});
    w_.arrive(77'777, 100);  // seats are cleared when somebody asks for one
    for (const WarmReplicaState& row : w_.d.fleet.warm_replicas(w_.d.now)) {
      RC_ASSERT(row.unread <= 1u);
      RC_ASSERT(row.seat_tokens.count >= 0);
      RC_ASSERT(row.shadow_tokens.count >= 0);
    }
    RC_ASSERT(bugs_.seen() == 0u);
  }
  std::uint64_t digest() const { return w_.d.fleet.digest(); }

 private:
  void come() {
    const auto session = static_cast<std::uint64_t>(rng_.between(0, static_cast<std::int64_t>(contexts_.size()) - 1));
    if (busy_[session] > 0 && rng_.uniform() < 0.9) return;
    ++busy_[session];
    contexts_[session] += rng_.between(100, 900);
    const RequestId id = w_.arrive(session + 1, contexts_[session]);
    of_[id] = session;
    settle();
  }
  // The oldest that is in flight ends.
  void answer() {
    for (const auto& [id, turn] : w_.turns) {
      if (turn.at == no_replica) continue;
      const RequestId request = id;
      --busy_[of_[request]];
      const auto end = rng_.uniform() < 0.8 ? AnswerEnd::tool_call : AnswerEnd::turn;
      w_.finish(request, rng_.between(0, turn.prompt), end);
      return settle();
    }
  }
  void go_away() {
    if (w_.turns.empty()) return;
    const RequestId id = w_.turns.begin()->first;
    --busy_[of_[id]];
    w_.leave(id);
    settle();
  }
  void fail() {
    for (auto& [id, turn] : w_.turns) {
      if (turn.at == no_replica || turn.first_content) continue;
      turn.at = no_replica;
      w_.step(AttemptFailed{id, rng_.uniform() < 0.5 ? Failure::busy : Failure::refused});
      return settle();
    }
  }
  void health() {
    const auto engine = static_cast<EngineIndex>(rng_.between(0, engines_ - 1));
    rng_.uniform() < 0.7 ? w_.step(ProbeGood{engine}) : w_.step(ProbeBad{engine, rng_.uniform() < 0.5});
    settle();
  }
  void settle() {
    for (const Reject& reject : std::exchange(w_.rejected, {})) end_rejected(reject.request);
  }
  void end_rejected(RequestId id) {
    --busy_[of_[id]];
    w_.turns.erase(id);
    w_.step(Finished{id, Outcome::refused_by_us});
  }

  void check() {
    settle();
    std::uint32_t not_sent = 0;
    for (auto& [id, turn] : w_.turns) {
      not_sent += turn.at == no_replica;
      if (turn.at != no_replica && keeps_within(turn.rule)) RC_ASSERT(turn.within);
    }
    RC_ASSERT(w_.waiting() == not_sent);
    if (not_sent == 0) return;
    RC_ASSERT(!w_.timers.empty());  // somebody will look at the queue again
    // Work is conserved: beside a queue no replica that is up stands without anybody to work for. Who waits for a full
    // home does so for as long as the longer reading takes (warm_test.cpp), and leaves others empty meanwhile.
    if (waits_for_home_) return;
    for (const WarmReplicaState& row : w_.d.fleet.warm_replicas(w_.d.now)) {
      if (!w_.d.replica(row.index).up || row.seats > 0) continue;
      RC_ASSERT(all_tried(row.index));
    }
  }
  // Those that wait have all come to nothing there.
  bool all_tried(ReplicaIndex) const {
    for (const auto& [id, turn] : w_.turns)
      if (turn.at == no_replica && turn.rule.empty()) return false;
    return true;
  }

  BugWatch bugs_;
  Rng rng_;
  WarmWorld w_;
  bool waits_for_home_;
  std::uint32_t engines_;
  std::vector<std::int64_t> contexts_;
  std::vector<int> busy_;
  std::map<RequestId, std::uint64_t> of_;
};

std::uint64_t run(const std::vector<std::uint32_t>& acts, std::uint64_t seed, WarmRules rules) {
  Load load(seed, 2, 12, rules);
  for (const std::uint32_t act : acts) load.act(act);
  load.end_all();
  return load.digest();
}
std::vector<std::uint32_t> choices() {
  return *rc::gen::resize(150, rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 100)));
}
WarmRules some_rules() {
  WarmRules rules;
  rules.mode = static_cast<policy::WarmMode>(*rc::gen::inRange(0, 3));
  if (*rc::gen::inRange(0, 4) == 0) rules.max_wait = 10s;
  rules.wait_for_home = *rc::gen::inRange(0, 2) == 0;
  return rules;
}
}  // namespace

TEST(WarmProperties, SeatsQueueAndLedgerAddUpWhateverHappens) {
  EXPECT_TRUE(rc::check("in every mode", [] { run(choices(), *rc::gen::arbitrary<std::uint64_t>(), some_rules()); }));
}

TEST(WarmProperties, SameEventsSameDigest) {
  EXPECT_TRUE(rc::check("equal runs, equal digests", [] {
    const auto acts = choices();
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const WarmRules rules = some_rules();
    RC_ASSERT(run(acts, seed, rules) == run(acts, seed, rules));
  }));
}

// Twelve sessions that never pause on one replica that holds three, and one whose context fills it: a bound for waits.
TEST(WarmProperties, NobodyWaitsForEver) {
  for (const auto mode : {policy::WarmMode::latency, policy::WarmMode::throughput, policy::WarmMode::fair_tail}) {
    WarmRules rules;
    rules.mode = mode;
    WarmWorld w(1, rules);
    constexpr std::uint64_t sessions = 12;
    std::map<std::uint64_t, TimePoint> due;  // when the session comes
    for (std::uint64_t s = 1; s <= sessions; ++s) due[s] = TimePoint(1s);
    Duration longest{};
    while (w.d.now < TimePoint(std::chrono::hours(3))) {
      for (auto& [session, at] : due)
        if (at <= w.d.now) {
          w.arrive(session, session == 1 ? 33'000 : 9'000);
          at = TimePoint::max();
        }
      std::vector<RequestId> done;
      for (const auto& [id, turn] : w.turns) {
        if (turn.at == no_replica) continue;
        longest = std::max(longest, turn.sent - turn.arrived);
        if (w.d.now - turn.sent >= 8s) done.push_back(id);
      }
      for (const RequestId id : done) {
        due[w.turns.at(id).session] = w.d.now + 200ms;
        w.finish(id, w.turns.at(id).prompt - 600);
      }
      w.pass(200ms);
    }
    for (const auto& [id, turn] : w.turns)
      if (turn.at == no_replica) longest = std::max(longest, w.d.now - turn.arrived);
    EXPECT_LT(longest, std::chrono::minutes(30)) << "mode " << static_cast<int>(mode);
  }
}

}  // namespace wg::fleet
