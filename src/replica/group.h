// The ranks of one simulated vLLM in real time: engine models whose clock runs `speed` times faster than ours. Model
// time is exact: steps begin when the one before ended and requests come in between, however late our timers fire.
// Invariants: a Flight is one request from send() to its end or its destruction, which aborts it; it is told news at
// most once a pulse. Owner: one loop.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "net/precise_timer.h"
#include "replica/rank_statistics.h"
#include "replica/refusal.h"
#include "replica/server.h"
#include "replica/tokenizer.h"
#include "sim/engine.h"

namespace wg::replica {

class Group;

class Flight {
 public:
  enum class End : std::uint8_t { none, finished, aborted, engine_dead, refused };

  ~Flight();
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  bool arrived = false;  // at its engine; or refused there
  std::uint32_t rank = 0;
  End end = End::none;  // aborted: another rank died; engine_dead: its own
  Refusal refusal;      // if refused
  TokenList fresh;      // generated and not yet taken by the owner
  std::size_t generated = 0;
  std::int64_t prompt = 0, cached = 0;
  bool whole_only = false;  // wake only at the end

  // co_await news(): goes on when something above has changed, or somebody called nudge().
  struct News {
    Flight& flight;
    bool await_ready() const { return flight.has_news_; }
    void await_suspend(std::coroutine_handle<> self) { flight.waiter_ = self; }
    void await_resume() const { flight.has_news_ = false; }
  };
  News news() { return {*this}; }
  void nudge();  // resumes the waiter at once

 private:
  friend class Group;
  Flight(Group& group, RequestId id) : group_(group), id_(id) {}

  Group& group_;
  RequestId id_;
  std::coroutine_handle<> waiter_;
  bool has_news_ = false;
  bool in_engine_ = false;
};

struct Work {
  sim::TokenChain prompt;
  TokenList answer;
  sim::FinishReason ends_with = sim::FinishReason::stop;
  std::optional<std::int64_t> rank;  // asked for by the client
};

class Group {
 public:
  Group(net::Loop& loop, const Options& options);
  ~Group();

  std::unique_ptr<Flight> send(Work work);
  void die(std::uint32_t killed);  // every flight ends, caches are lost
  void end_all();                  // as SIGTERM: every flight is aborted

  TimePoint now();  // the model's; everything up to it has happened
  Duration real(Duration of_model) const { return from_seconds(to_seconds(of_model) / speed_); }

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(ranks_.size()); }
  const sim::Engine& engine(std::uint32_t rank) const { return ranks_[rank].engine; }
  const RankStatistics& statistics(std::uint32_t rank) const { return *ranks_[rank].statistics; }
  std::uint64_t rejections() const { return rejections_; }
  bool reset_prefix_cache();

 private:
  friend class Flight;
  struct Rank {
    sim::Engine engine;
    TimePoint step_end;
    std::unique_ptr<RankStatistics> statistics;
  };
  struct Arrival {
    TimePoint at;
    RequestId id;
    Work work;
  };

  TimePoint model_now() const;
  void advance();
  void arrive(Arrival arrival);
  std::optional<Refusal> refusal_of(const Work& work) const;
  void begin_step(Rank& rank, TimePoint at);
  void end_step(Rank& rank);
  void publish(TimePoint at);
  void tell(Flight& flight);
  void wake();
  void set_timer();
  void gone(Flight& flight);
  void lose(Flight& flight, Flight::End end);

  net::Loop& loop_;
  sim::EngineSettings settings_;
  double speed_;
  Duration network_;
  std::size_t most_requests_;
  sim::Balancer balancer_;
  std::vector<Rank> ranks_;
  net::PreciseTimer timer_;
  TimePoint started_;                               // of our clock: the model's zero
  TimePoint pulse_, published_{};                   // last advance (our clock), last publication (the model's)
  std::vector<Arrival> arrivals_;                   // on their way, in the order of their times
  std::unordered_map<RequestId, Flight*> flights_;  // looked up only
  std::vector<RequestId> order_;                    // of flights_: oldest first, with holes
  std::vector<RequestId> to_wake_;
  RequestId last_id_ = 0;
  std::uint64_t rejections_ = 0;
  bool waking_ = false;
};

}  // namespace wg::replica
