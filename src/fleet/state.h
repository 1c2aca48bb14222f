// All that the fleet knows, and what it does on each event: one member function an event, in the file of its subject.
// Invariants: those of fleet.h; `now` never goes back; commands are only ever appended, through issue().
// Owner: the fleet.
#pragma once

#include <map>
#include <unordered_map>

#include "core/bounded_map.h"
#include "fleet/children.h"
#include "fleet/fleet.h"
#include "fleet/placement.h"
#include "fleet/replicas.h"
#include "fleet/sessions.h"
#include "fleet/warm_book.h"
#include "policy/queue_order.h"

namespace wg::fleet {

// One request from RequestArrived to Finished.
struct Request {
  RequestArrived asked;
  ReplicaIndex replica = no_replica;  // where it is in flight; no_replica: nowhere
  policy::Route route = policy::Route::placed;
  bool pinned = false;               // goes there and nowhere else
  std::uint64_t session_serial = 0;  // 0: it has no session to end a turn of
  std::uint32_t retries = 0;
  bool fresh_connection = false;
  std::vector<ReplicaIndex> tried;  // came to nothing there
  bool saw_content = false;
  TimePoint arrived;
  Reading reading;
  std::optional<policy::QueueKey> queued;  // while it waits for a seat
  const char* why_queued = "";             // a literal; stays when it waits no longer
  std::uint32_t overtaken = 0;
  // While it waits: when it was looked at last, in changes of replicas and in fresh starts of its room ...
  std::uint64_t seen_changes = 0, seen_fresh_starts = 0;
  TimePoint look_at_all_by;  // ... and from when on those that have not changed are to be looked at, too
  struct Counted {           // what was added to `at` for this request
    ReplicaIndex at = no_replica;
    Tokens cached, computed, unmeasured, output;
  } counted;
};

// Requests of one pool that wait for a seat.
struct WaitingRoom {
  std::map<policy::QueueKey, RequestId> queue;
  bool ticking = false;  // a timer is set
  // Since the last of them time has passed, a little was learnt, or engines came and went: each is looked at anew.
  std::uint64_t fresh_starts = 1;
};

struct Fleet::State {
  explicit State(const Spec& from);

  // arrivals.cpp
  void on(const RequestArrived& event);
  void arrive_pinned(Request& request, ReplicaIndex maker);
  void arrive_free(Request& request);
  void child_came(const RequestArrived& child);
  void read_arrival(Request& request);
  Session* session_of(const Request& request);  // drops a home that is retired
  policy::Decision decide(const Request& request, const Session* session);
  void dispatch(Request& request, policy::Decision decision);
  void reject(Request& request, Reject answer, const char* rule);
  void reject_none_up(Request& request);

  // waiting.cpp: the queue of `warm`
  bool takes_a_seat(const Request& request) const;
  bool has_seats(PoolIndex pool) const;
  void arrive_warm(Request& request);
  void queue(Request& request, const char* why);
  void leave_queue(Request& request);
  void pump(PoolIndex pool);
  bool send_on(PoolIndex pool);
  void was_overtaken(Request& waiter);
  bool one_stands_empty(PoolIndex pool) const;
  bool one_keeps_prefixes(PoolIndex pool) const;
  bool try_waiter(Request& request);
  void let_all_go(PoolIndex pool);
  void make_room(const Request& request, ReplicaIndex at);
  void keep_ticking(PoolIndex pool);
  void refuse_late(PoolIndex pool);
  bool another_is_up(const Request& request);  // than those it was tried on

  // residents.cpp: who stays where its context is
  const Seat* seat_of(const Request& request) const;
  bool may_stay(const Request& request) const;
  const char* why_not_stay(const Request& request) const;
  bool outgrown(const Lineage& lineage, const Seat& seat, const Request& request) const;
  double waiting_per_seat(PoolIndex pool) const;
  double sessions_per_replica(PoolIndex pool) const;
  bool is_rotation_due(const Lineage& lineage, PoolIndex pool, double crowd) const;
  bool yields(const Seat& seat, const Request& request) const;

  // looks.cpp: which of those that wait are worth pricing
  bool is_worth_a_look(Request& request);
  bool one_may_take(const Request& request) const;
  bool may_take_now(const Request& request, const Asking& asking, ReplicaIndex at) const;
  bool rather_waits_for_home(Request& request, const Asking& asking, ReplicaIndex at) const;

  // warm_choice.cpp: what `warm` sees, and what it makes of it
  policy::Decision warm_decision(const Request& request, bool is_resident);
  policy::WarmView warm_view(const Load& load, const Asking& asking, bool is_resident) const;

  // retries.cpp
  void on(const AttemptFailed& event);
  void retry_elsewhere(Request& request, policy::Failure failure);
  void retry_warm(Request& request, policy::Failure failure);
  void give_up(Request& request, policy::Failure failure, const char* rule);

  // reports.cpp
  void on(const FirstByte&) {}
  void on(const FirstContent& event);
  void on(const UsageReported& event);
  void on(const ResponseMade& event);
  void on(const Finished& event);
  void on(const SessionReleased& event);
  void count(Request& request, const Request::Counted& usage);

  // engines.cpp
  void on(const EngineFound& event);
  void on(const ReplicaSampled& event);
  void on(const ProbeGood& event);
  void on(const ProbeBad& event);
  void on(const PolicyChanged& event);
  void on(const TimerFired& event);
  bool knows(EngineIndex engine) const;
  void health_changed(EngineIndex engine, const char* rule);
  void forgive(EngineIndex engine);
  void met_broken(ReplicaIndex at, const char* rule);  // real traffic showed that the engine is gone
  void met_dying(ReplicaIndex at, const char* rule);
  void met_reset(ReplicaIndex at);             // before an answer had begun: perhaps
  bool may_be_sent_to(ReplicaIndex at) const;  // from the queue: it is up, and not suspected of dying

  // Nothing of it is in flight any more where it was.
  void let_go(Request& request, bool came_to_its_end);
  void forget_session(const SessionKey& session);
  void doubt_cache(ReplicaIndex at, const char* why);

  void issue(Command command);
  Request* request(RequestId id);
  WarmRules warm_rules(PoolIndex pool) const;  // under another policy `warm` watches, and holds no seats

  Spec spec;
  std::vector<PoolRule> rules;
  ReplicaTable replicas;
  WarmBook book;
  std::vector<WaitingRoom> waiting;  // by pool
  SessionTable sessions;
  Children children;                                // of sessions, by their key
  std::unordered_map<RequestId, Request> requests;  // looked up only, never walked
  BoundedMap<SessionKey, ReplicaIndex> makers;      // of responses
  TimePoint now{};
  Commands commands;
  std::uint64_t digest = 0;
  std::vector<policy::ReplicaView> views;    // kept for its memory
  std::vector<Load> loads;                   // likewise
  std::vector<policy::WarmView> warm_views;  // likewise
};

}  // namespace wg::fleet
