// The live driver of the fleet: turns socket facts into Events on one loop and carries out its Commands. Everything
// that decides is behind it. Owner thread: the brain's loop; ask() and tell() may be called on any loop. Invariant: a
// request that was asked about is ended exactly once, by its Ticket.
#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "config/config.h"
#include "core/ids.h"
#include "fleet/fleet.h"
#include "gateway/decision_log.h"
#include "gateway/decision_recorder.h"
#include "gateway/directory.h"
#include "net/loop.h"
#include "probe/engine_sample.h"
#include "record/request_log.h"

namespace wg::gateway {

// What is known of an engine beside the fleet's own state: for the API, and for warnings that are given once.
struct EngineInfo {
  std::string model;
  probe::EngineKind kind = probe::EngineKind::unknown;
  std::vector<probe::RankSample> ranks;  // last scrape
  std::vector<std::string> warnings;     // with the flag that mends them
  bool kv_capacity_assumed = false;
  bool found = false;
};

struct Decision {
  std::variant<fleet::Dispatch, fleet::Reject> command;
  const char* rule = "";
};

class Brain {
 public:
  Brain(net::Loop& loop, const config::Config& config, record::Log& log);
  ~Brain();

  net::Loop& loop() { return loop_; }
  const DirectoryHolder& directory() const { return directory_; }

  // Ask ask(brain, home, event, request); co_await ask: the decision on an arrival or a failed attempt, at once or when
  // a seat is free. Comes back on `home`.
  class Ask;
  // Any loop; nothing comes back.
  void tell(fleet::Event event);
  // The client of a request that still waits for its decision has left: the wait is over, with a rejection. Any loop.
  void withdraw(RequestId request);

  // What collect/ reports. On the brain's loop.
  void engine_found(EngineIndex engine, const std::string& model, const probe::EngineSample& sample,
                    std::optional<std::uint32_t> slots);
  void engine_sampled(EngineIndex engine, const probe::EngineSample& sample);
  void engine_good(EngineIndex engine);
  void engine_bad(EngineIndex engine, bool refused, const std::string& why);
  std::function<void(EngineIndex, Duration)> set_probe_interval;  // set by app before the loop runs
  std::function<void(EngineIndex)> look_now;                      // ... likewise; asks an engine before its time
  std::function<void(EngineIndex)> look_anew;                     // ... and not as it was before now
  std::function<void(const std::string& pool)> pool_named;        // ... likewise; a pool's name is known from now on

  // Something that a flag of the engine would mend: logged once, shown in the API. On the brain's loop.
  void warn_once(EngineIndex engine, const std::string& what);
  // An answer of an engine whose cached tokens nobody measured: warns once. Any loop.
  void cached_tokens_missing(EngineIndex engine);

  // For the admin API; on the brain's loop.
  const fleet::Fleet& fleet() const { return fleet_; }
  const DecisionLog& decisions() const { return decisions_; }
  const std::vector<EngineInfo>& engines() const { return engines_; }
  std::uint64_t unsteered_total() const { return unsteered_; }
  TimePoint fleet_now() const;

 private:
  struct Pending;
  using PendingPtr = std::shared_ptr<Pending>;
  // A request that comes while nobody is up is worth a look: its engines may be back by now.
  struct Late {
    PendingPtr pending;
    PoolIndex pool;
    std::vector<EngineIndex> awaited;
  };
  void consider(PendingPtr pending);
  void engine_was_looked_at(EngineIndex engine);
  void decide_late(bool all);
  void set_timer(const fleet::SetTimer& order);

  void step(const fleet::Event& event);
  void record(const fleet::Event& event, TimePoint now, const fleet::Commands& commands);
  Duration real(Duration fleets) const;
  void carry_out(const fleet::Commands& commands);
  void answer(RequestId request, Decision decision);
  void note(const fleet::Note& note);
  void advise(PoolIndex pool);
  void look_at_suspect(EngineIndex engine);
  void count_engines_up();
  void rebuild_directory();
  PoolIndex pool_for(EngineIndex engine, const std::string& model);

  net::Loop& loop_;
  const config::Config& config_;
  record::Log& log_;
  fleet::Fleet fleet_;
  std::unique_ptr<DecisionRecorder> recorder_;  // nullptr: nothing is recorded
  DirectoryHolder directory_;
  std::vector<std::string> pool_names_;
  std::vector<PoolIndex> engine_pools_;
  std::vector<EngineInfo> engines_;
  std::unordered_map<RequestId, PendingPtr> waiting_;
  std::unordered_set<RequestId> withdrawn_;  // until the fleet has heard of their end
  std::unordered_map<std::uint64_t, std::unique_ptr<net::Timer>> timers_;
  std::vector<Late> late_;
  net::Timer late_timer_;
  std::vector<std::uint32_t> engines_up_;               // by pool
  std::vector<std::optional<TimePoint>> last_advised_;  // likewise, in real time
  DecisionLog decisions_;
  std::uint64_t unsteered_ = 0;
  bool told_of_loss_ = false;
};

// What the brain and a coroutine that asked share: the coroutine may be destroyed while it waits.
struct Brain::Pending {
  net::Loop& home;
  const RequestId request;
  const fleet::Event event;
  std::coroutine_handle<> self;
  std::optional<Decision> decision;
  bool gone = false;  // the coroutine is; looked at on `home` only
};

class Brain::Ask {
 public:
  Ask(Brain& brain, net::Loop& home, const fleet::Event& event, RequestId request)
      : brain_(brain), pending_(std::make_shared<Pending>(Pending{home, request, event, {}, {}})) {}
  ~Ask() { pending_->gone = true; }
  Ask(const Ask&) = delete;
  Ask& operator=(const Ask&) = delete;

  bool await_ready();
  void await_suspend(std::coroutine_handle<> self);
  Decision await_resume() { return std::move(*pending_->decision); }

 private:
  Brain& brain_;
  PendingPtr pending_;
};

// The right to have a request in flight. Exactly one for each RequestArrived; when it goes, the request has ended.
class Ticket {
 public:
  Ticket(Brain& brain, RequestId request) : brain_(&brain), request_(request) {}
  Ticket(Ticket&& other) noexcept
      : brain_(std::exchange(other.brain_, nullptr)), request_(other.request_), outcome_(other.outcome_) {}
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket() {
    if (brain_) brain_->tell(fleet::Finished{request_, outcome_});
  }
  void set_outcome(fleet::Outcome outcome) { outcome_ = outcome; }
  fleet::Outcome outcome() const { return outcome_; }

 private:
  Brain* brain_;
  RequestId request_;
  fleet::Outcome outcome_ = fleet::Outcome::failed;
};

}  // namespace wg::gateway
