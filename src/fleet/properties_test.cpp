// Random sequences of events against the invariants of fleet.h. rapidcheck makes the sequences and shrinks what fails.
#include <rapidcheck.h>

#include <map>
#include <set>

#include "core/rng.h"
#include "fleet/digest.h"
#include "fleet/test_driver.h"

namespace wg::fleet {

namespace {
using policy::PolicyName;
using policy::Route;

// A world that keeps its own books of what the fleet commands, and compares.
class World {
 public:
  World(std::uint64_t seed, bool faults, std::optional<PolicyName> policy)
      : rng_(seed), faults_(faults), policy_(policy.value_or(PolicyName::sticky)), may_change_(!policy), d_(spec()) {
    for (EngineIndex e = 0; e < engines; ++e) find(e);
    for (EngineIndex e = 0; e < engines; ++e) step(ProbeGood{e});
  }

  void act(std::uint32_t choice) {
    d_.wait(Millis(rng_.between(0, 2000)));
    const std::uint32_t what = choice % 100;
    if (what < 45) return arrive();
    if (what < 75) return finish(pick());
    if (what < 80) return report(pick());
    if (!faults_) return;
    if (what < 88) return fail(pick());
    if (what < 97) return health();
    if (what < 98) return find(any_engine());
    if (what < 99 && may_change_) return change_policy();
    step(SessionReleased{0, any_key()});
  }

  void end_all() {
    while (!running_.empty()) finish(running_.begin()->first);
    for (const ReplicaState& row : d_.fleet.replicas(d_.now)) RC_ASSERT(row.in_flight == 0u);
    RC_ASSERT(d_.fleet.requests_known() == 0u);
    for (const SessionState& session : d_.fleet.sessions(1000)) RC_ASSERT(session.in_flight == 0u);
    d_.wait(60s);
    for (const ReplicaState& row : d_.fleet.replicas(d_.now)) RC_ASSERT(row.active_sessions == 0u);
    RC_ASSERT(bugs_.seen() == 0u);
  }

  std::uint64_t digest() const { return d_.fleet.digest(); }

 private:
  static constexpr EngineIndex engines = 3;

  Spec spec() const {
    Spec spec = Driver::spec_of(engines, policy_);
    spec.session_limit = 20;
    spec.pools[0].spill_threshold = 2;
    return spec;
  }
  EngineIndex any_engine() { return static_cast<EngineIndex>(rng_.between(0, engines - 1)); }
  SessionKey any_key() { return key(static_cast<std::uint64_t>(rng_.between(1, 30))); }
  RequestId pick() {
    if (running_.empty()) return 0;
    auto at = running_.begin();
    std::advance(at, rng_.between(0, static_cast<std::int64_t>(running_.size()) - 1));
    return at->first;
  }

  void arrive() {
    RequestArrived event;
    event.request = ++last_;
    if (rng_.uniform() < 0.9) event.session = any_key();
    if (rng_.uniform() < 0.1) event.parent = any_key(), event.kind = RequestClass::sub_agent;
    event.steerable_path = rng_.uniform() < 0.9;
    event.prompt_estimate = {rng_.between(0, 5000)};
    if (rng_.uniform() < 0.1) event.pinned_to_response = any_key();
    event.must_be_pinned = event.pinned_to_response && rng_.uniform() < 0.3;
    const std::map<SessionKey, ReplicaIndex> homes = homes_now();
    const auto before = d_.fleet.replicas(d_.now);
    running_[last_] = no_replica;
    step(event);
    if (!faults_ && policy_ == PolicyName::sticky && event.steerable_path && !event.pinned_to_response)
      stays_home(event, homes, before);
  }
  // Without faults a session whose home is at or under its threshold stays there.
  void stays_home(const RequestArrived& event, const std::map<SessionKey, ReplicaIndex>& homes,
                  const std::vector<ReplicaState>& before) const {
    const auto home = homes.find(event.session);
    if (home == homes.end() || home->second == no_replica || !before[home->second].rank) return;
    double load = before[home->second].in_flight;
    std::uint32_t ranks = 0;
    for (const ReplicaState& row : before)
      if (row.engine == before[home->second].engine && row.rank) ++ranks;
    for (const ReplicaState& row : before)
      if (row.engine == before[home->second].engine && !row.rank) load += static_cast<double>(row.in_flight) / ranks;
    if (load > 2) return;
    RC_ASSERT(d_.dispatched().replica == home->second);
    RC_ASSERT(d_.dispatched().route == Route::sticky);
  }
  std::map<SessionKey, ReplicaIndex> homes_now() const {
    std::map<SessionKey, ReplicaIndex> homes;
    for (const SessionState& session : d_.fleet.sessions(1000)) homes[session.key] = session.home;
    return homes;
  }

  void finish(RequestId request) {
    if (!request) return;
    const bool nowhere = running_[request] == no_replica;
    static constexpr Outcome ends[] = {Outcome::ok, Outcome::ok, Outcome::client_gone, Outcome::died_mid_stream,
                                       Outcome::engine_aborted};
    const Outcome outcome = ends[rng_.between(0, faults_ ? 4 : 2)];
    running_.erase(request);
    step(Finished{request, nowhere ? Outcome::refused_by_us : outcome});
  }
  void report(RequestId request) {
    if (!request) return;
    step(FirstContent{request});
    step(UsageReported{
        request, {rng_.between(0, 9000)}, {rng_.between(0, 9000)}, {rng_.between(0, 300)}, true, rng_.uniform() < 0.5});
    step(ResponseMade{request, any_key()});
  }
  void fail(RequestId request) {
    if (!request || running_[request] == no_replica) return;
    step(AttemptFailed{request, static_cast<Failure>(rng_.between(0, 5))});
    RC_ASSERT(d_.the<Dispatch>() || d_.the<Reject>());
    if (d_.the<Reject>()) running_[request] = no_replica;
  }
  void health() {
    const EngineIndex engine = any_engine();
    rng_.uniform() < 0.7 ? step(ProbeGood{engine}) : step(ProbeBad{engine, rng_.uniform() < 0.5});
    step(ReplicaSampled{engine, static_cast<std::uint32_t>(rng_.between(0, 3)), 1, 2, rng_.uniform()});
  }
  void find(EngineIndex engine) {
    const bool other = faults_ && rng_.uniform() < 0.3;
    step(EngineFound{engine, {}, other ? "other" : "model", engine + 1, rng_.uniform() < 0.9, 32, {}});
  }
  void change_policy() { step(PolicyChanged{0, static_cast<PolicyName>(rng_.between(0, 4)), 2}); }

  // Carries a step out in the books and checks every command.
  void step(const Event& event) {
    d_.step(event);
    std::map<RequestId, int> answers;
    for (const Command& command : d_.commands) {
      if (const auto* dispatch = std::get_if<Dispatch>(&command)) {
        RC_ASSERT(running_.count(dispatch->request) == 1u);
        RC_ASSERT(d_.replica(dispatch->replica).up);
        RC_ASSERT(!d_.replica(dispatch->replica).retired);
        running_[dispatch->request] = dispatch->replica;
        ++answers[dispatch->request];
      }
      if (const auto* reject = std::get_if<Reject>(&command)) {
        RC_ASSERT(reject->retry_after_s >= 1u && reject->retry_after_s <= 30u);
        running_[reject->request] = no_replica;
        ++answers[reject->request];
      }
    }
    for (const auto& [request, count] : answers) RC_ASSERT(count == 1);
    // `warm` may let it wait, and then lets it go at any later event.
    if (std::holds_alternative<RequestArrived>(event) && !d_.the<Hold>()) RC_ASSERT(answers.size() >= 1u);
    compare();
  }
  void compare() const {
    std::map<ReplicaIndex, std::uint32_t> books;
    for (const auto& [request, replica] : running_)
      if (replica != no_replica) ++books[replica];
    for (const ReplicaState& row : d_.fleet.replicas(d_.now)) {
      const auto found = books.find(row.index);
      RC_ASSERT(row.in_flight == (found == books.end() ? 0u : found->second));
    }
    RC_ASSERT(d_.fleet.requests_known() == running_.size());
    RC_ASSERT(d_.fleet.sessions_known() <= 20u);
  }

  BugWatch bugs_;
  Rng rng_;
  bool faults_;
  PolicyName policy_;
  bool may_change_;
  Driver d_;
  RequestId last_ = 0;
  std::map<RequestId, ReplicaIndex> running_;  // no_replica: rejected, its end is still to come
};

std::vector<std::uint32_t> choices() {
  return *rc::gen::resize(200, rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 100)));
}

std::uint64_t run(const std::vector<std::uint32_t>& acts, std::uint64_t seed, bool faults,
                  std::optional<PolicyName> policy) {
  World world(seed, faults, policy);
  for (const std::uint32_t act : acts) world.act(act);
  world.end_all();
  return world.digest();
}
}  // namespace

TEST(Properties, LoadIsExactWhateverHappens) {
  EXPECT_TRUE(rc::check("in flight equals the books, every request is answered once, none goes to what is down",
                        [] { run(choices(), *rc::gen::arbitrary<std::uint64_t>(), true, std::nullopt); }));
}

TEST(Properties, LoadIsExactUnderEachPolicy) {
  EXPECT_TRUE(rc::check("the same for each policy", [] {
    const auto policy = static_cast<PolicyName>(*rc::gen::inRange(0, 5));
    run(choices(), *rc::gen::arbitrary<std::uint64_t>(), true, policy);
  }));
}

TEST(Properties, WithoutFaultsSessionsStayHomeBelowTheThreshold) {
  EXPECT_TRUE(rc::check("sticky stays",
                        [] { run(choices(), *rc::gen::arbitrary<std::uint64_t>(), false, PolicyName::sticky); }));
}

TEST(Properties, SameEventsSameDigest) {
  EXPECT_TRUE(rc::check("equal runs, equal digests", [] {
    const auto acts = choices();
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    RC_ASSERT(run(acts, seed, true, std::nullopt) == run(acts, seed, true, std::nullopt));
  }));
}

TEST(Digest, TellsDifferentRunsApart) {
  Driver a(2, 2), b(2, 2), c(2, 2);
  for (Driver* d : {&a, &b, &c}) d->turn(1);
  EXPECT_EQ(a.fleet.digest(), b.fleet.digest());
  a.turn(2);
  b.turn(2);
  c.turn(1);
  EXPECT_EQ(a.fleet.digest(), b.fleet.digest());
  EXPECT_NE(a.fleet.digest(), c.fleet.digest());
}

TEST(Digest, DependsOnEveryFigureOfEveryCandidate) {
  const auto digest_of = [](const policy::Candidate& candidate) {
    Note note;
    note.candidates = {candidate, {}};
    return mixed(0, note);
  };
  const policy::Candidate base{1, 2, 3, 4};
  std::set<std::uint64_t> seen{digest_of(base)};
  for (const policy::Candidate& other : {policy::Candidate{2, 2, 3, 4}, {1, 2.25, 3, 4}, {1, 2, -1, 4}, {1, 2, 3, 5}})
    EXPECT_TRUE(seen.insert(digest_of(other)).second);
}

}  // namespace wg::fleet
