// A small world for tests of `warm`: engines that read and answer at fixed rates, clients that come when told. It keeps
// its own books of who waits and who is in flight, and fires the timers that the fleet sets. Tests only.
// Invariant: time moves only by pass(). Owner: the test that made it.
#pragma once

#include <algorithm>
#include <map>

#include "fleet/test_driver.h"

namespace wg::fleet {

class WarmWorld {
 public:
  static constexpr std::int64_t capacity = 34'000, head_size = 3'500;

  explicit WarmWorld(std::uint32_t engines, WarmRules rules = {}) : d(spec(engines, rules)) {
    for (EngineIndex e = 0; e < engines; ++e) {
      step(EngineFound{e, {}, "model", 1, true, 32, Tokens{capacity}});
      step(ProbeGood{e});
    }
  }

  struct Turn {
    std::uint64_t session = 0;
    std::int64_t prompt = 0;
    ReplicaIndex at = no_replica;
    TimePoint arrived, sent;
    bool first_content = false;
    std::string rule;
    bool within = true;  // its replica's seats fitted when it had just been sent
  };

  RequestId arrive(std::uint64_t session, std::int64_t prompt, RequestClass kind = RequestClass::turn) {
    RequestArrived event;
    event.session = key(session);
    event.lineage = key(session + (kind == RequestClass::background ? 1'000'000 : 0));
    event.head = key(kind == RequestClass::background ? 4343 : 4242);
    event.kind = kind;
    event.prompt_estimate = {prompt};
    event.request = ++last;
    turns[last] = {session, prompt, no_replica, d.now, {}, false, "", true};
    step(event);
    return last;
  }
  void first_content(RequestId request) {
    turns.at(request).first_content = true;
    step(FirstContent{request});
  }
  void finish(RequestId request, std::int64_t cached, AnswerEnd end = AnswerEnd::tool_call, std::int64_t output = 200) {
    const Turn turn = turns.at(request);
    if (!turn.first_content) first_content(request);
    step(UsageReported{request, {turn.prompt}, {cached}, {output}, true, true, end, 0});
    turns.erase(request);
    step(Finished{request, Outcome::ok});
  }
  void leave(RequestId request) {
    turns.erase(request);
    step(Finished{request, Outcome::client_gone});
  }
  // Lets time pass, timers in their turn.
  void pass(Duration time) {
    const TimePoint until = d.now + time;
    while (!timers.empty()) {
      const auto next = std::min_element(timers.begin(), timers.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      if (next->second > until) break;
      d.now = std::max(d.now, next->second);
      const std::uint64_t timer = next->first;
      timers.erase(next);
      step(TimerFired{timer});
    }
    d.now = until;
  }
  void step(const Event& event) {
    d.step(event);
    const char* rule = "";
    const auto sent = std::count_if(d.commands.begin(), d.commands.end(),
                                    [](const Command& c) { return std::holds_alternative<Dispatch>(c); });
    for (const Command& command : d.commands)
      if (const auto* note = std::get_if<Note>(&command)) notes.push_back(*note);
    for (const Command& command : d.commands) {
      if (const auto* order = std::get_if<SetTimer>(&command)) timers[order->timer] = order->at;
      if (const auto* dispatch = std::get_if<Dispatch>(&command)) {
        for (const Command& other : d.commands)
          if (const auto* note = std::get_if<Note>(&other); note && note->request == dispatch->request)
            rule = note->rule;
        EXPECT_TRUE(d.replica(dispatch->replica).up);
        if (const auto found = turns.find(dispatch->request); found != turns.end()) {
          EXPECT_EQ(found->second.at, no_replica) << "sent twice";
          found->second.at = dispatch->replica;
          found->second.sent = d.now;
          found->second.rule = rule;
          // Of several at once only the last one's moment is seen.
          found->second.within = sent > 1 || warm(dispatch->replica).seat_tokens <= Tokens{capacity};
        }
      }
      if (const auto* reject = std::get_if<Reject>(&command)) rejected.push_back(*reject);
    }
  }
  bool waits(RequestId request) const { return turns.at(request).at == no_replica; }
  ReplicaIndex at(RequestId request) const { return turns.at(request).at; }
  std::size_t waiting() const { return d.fleet.warm_pool(0, d.now).waiting; }
  WarmReplicaState warm(ReplicaIndex index) const { return d.fleet.warm_replicas(d.now).at(index); }

  Driver d;
  std::map<RequestId, Turn> turns;
  std::map<std::uint64_t, TimePoint> timers;
  std::vector<Reject> rejected;
  std::vector<Note> notes;
  RequestId last = 0;

 private:
  static Spec spec(std::uint32_t engines, const WarmRules& rules) {
    Spec spec = Driver::spec_of(engines, policy::PolicyName::warm);
    spec.pools[0].warm = rules;
    return spec;
  }
};

}  // namespace wg::fleet
