// A hand-driven fleet for the tests of this room: short names for events, and what they led to.
// Invariant: `now` moves only by wait(); request ids count from 1; engines are named e0, e1, ... in pool 0.
// Owner: the test that made it.
#pragma once

#include <gtest/gtest.h>

#include "core/assert.h"
#include "fleet/fleet.h"

namespace wg::fleet {

using namespace std::chrono_literals;

// Counts broken assumptions while it lives: a test says how many it expects.
class BugWatch {
 public:
  BugWatch() : before_(bug_count.load()) {
    bug_sink = [](const char*, int, const char*) {};
  }
  ~BugWatch() { bug_sink = nullptr; }
  std::uint64_t seen() const { return bug_count.load() - before_; }

 private:
  std::uint64_t before_;
};

inline SessionKey key(std::uint64_t n) { return {n, ~n}; }

struct Driver {
  Fleet fleet;
  TimePoint now{1s};
  RequestId last_request = 0;
  Commands commands;  // of the last step

  static Spec spec_of(std::uint32_t engines, policy::PolicyName policy) {
    Spec spec;
    spec.pools.push_back({.name = "model", .policy = policy, .spill_threshold = {}, .spill_rehome = false});
    for (std::uint32_t i = 0; i < engines; ++i) spec.engines.push_back({.name = "e" + std::to_string(i), .pool = 0});
    return spec;
  }

  explicit Driver(const Spec& spec) : fleet(spec) {}
  // `engines` engines of `ranks` ranks each, all up.
  explicit Driver(std::uint32_t engines, std::uint32_t ranks = 1,
                  policy::PolicyName policy = policy::PolicyName::sticky)
      : Driver(spec_of(engines, policy)) {
    for (EngineIndex i = 0; i < engines; ++i) bring_up(i, ranks);
  }

  const Commands& step(const Event& event) { return commands = fleet.step(event, now); }
  void wait(Duration time) { now += time; }

  void find(EngineIndex engine, std::uint32_t ranks, std::string model = "model", bool steerable = true) {
    step(EngineFound{engine, {}, std::move(model), ranks, steerable, 32, Tokens{34'000}});
  }
  void bring_up(EngineIndex engine, std::uint32_t ranks = 1) {
    find(engine, ranks);
    step(ProbeGood{engine});
  }
  void take_down(EngineIndex engine) { step(ProbeBad{engine, true}); }

  // A turn of a session arrives; returns its id. 0: no session.
  RequestId arrive(std::uint64_t session) {
    RequestArrived event;
    event.session = session ? key(session) : SessionKey{};
    return arrive(event);
  }
  RequestId arrive(RequestArrived event) {
    event.request = ++last_request;
    step(event);
    return event.request;
  }
  void finish(RequestId request, Outcome outcome = Outcome::ok) { step(Finished{request, outcome}); }
  void fail(RequestId request, Failure failure) { step(AttemptFailed{request, failure}); }
  // A whole turn; returns where it went.
  Dispatch turn(std::uint64_t session) {
    const RequestId request = arrive(session);
    const Dispatch made = dispatched();
    finish(request);
    return made;
  }

  template <class Wanted>
  const Wanted* the() const {
    for (const Command& command : commands)
      if (const Wanted* found = std::get_if<Wanted>(&command)) return found;
    return nullptr;
  }
  // The last step's dispatch; the test fails if there was none.
  Dispatch dispatched() const {
    const Dispatch* found = the<Dispatch>();
    EXPECT_NE(found, nullptr) << "nothing was dispatched";
    return found ? *found : Dispatch{};
  }
  Reject rejected() const {
    const Reject* found = the<Reject>();
    EXPECT_NE(found, nullptr) << "nothing was rejected";
    return found ? *found : Reject{};
  }
  bool noted(Note::What what) const {
    for (const Command& command : commands)
      if (const Note* note = std::get_if<Note>(&command); note && note->what == what) return true;
    return false;
  }

  ReplicaState replica(ReplicaIndex index) const {
    for (const ReplicaState& state : fleet.replicas(now))
      if (state.index == index) return state;
    ADD_FAILURE() << "no replica " << index;
    return {};
  }
  std::uint32_t in_flight() const {
    std::uint32_t sum = 0;
    for (const ReplicaState& state : fleet.replicas(now)) sum += state.in_flight;
    return sum;
  }
  ReplicaIndex home(std::uint64_t session) const {
    for (const SessionState& state : fleet.sessions(100'000))
      if (state.key == key(session)) return state.home;
    return no_replica;
  }
};

inline bool operator==(const Dispatch& a, const Dispatch& b) {
  return a.request == b.request && a.replica == b.replica && a.route == b.route;
}

}  // namespace wg::fleet
