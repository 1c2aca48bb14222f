// A modelled engine as the gateway meets it: a process with ranks behind one port, its own balancer, and its troubles.
// Knows nothing of requests beyond their ids. Owner: the world.
// Invariants: a request that was sent is on_the_way or `here` at one rank, in order of arrival, until it is over; after
// begin_life caches are cold and nothing is here.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/balancer.h"
#include "sim/engine.h"
#include "sim/fault.h"

namespace wg::sim {

// What an engine tells of itself, where that is not all of the truth.
struct Tells {
  double kv_times = 1;  // the size of its cache, so many times what it is; 0: it tells none
  bool cached = true;   // how many tokens of a prompt were cached
};

// A modelled engine: a process with `ranks` ranks behind one port.
struct EngineSetup {
  std::string name;
  std::string model;
  EngineSettings settings;
  std::uint32_t ranks = 1;
  BalancerKind balancer = BalancerKind::random;
  Duration network{};                         // from the gateway to it
  std::optional<std::uint32_t> max_num_seqs;  // what the gateway knows of it; empty: nothing, as with vLLM
  Tells tells = {};
};

class ModelEngine {
 public:
  struct Rank {
    explicit Rank(const EngineSettings& settings) : engine(settings) {}
    Engine engine;
    std::vector<RequestId> here;
    bool due = false;  // the beginning of a step has been put on the heap
  };

  ModelEngine(const EngineSetup& setup, std::uint64_t seed);

  const EngineSetup& setup() const { return setup_; }
  const std::string& model() const { return model_; }
  std::vector<RequestId> on_the_way;  // sent to it, not yet arrived
  std::vector<Rank>& ranks() { return ranks_; }
  const std::vector<Rank>& ranks() const { return ranks_; }
  std::uint32_t life() const { return life_; }  // grows with each start of the process

  // Its own choice for a request that names no rank; counts it there.
  std::uint32_t pick_rank(TimePoint now);
  void rank_named(std::uint32_t rank) { balancer_.sent(rank); }
  void request_gone(std::uint32_t rank, RequestId request);

  bool listens(TimePoint now) const { return now >= refuses_until_ && !(dead_ && now >= lies_until_); }
  bool is_dead(TimePoint now) const { return dead_ && now < lies_until_; }  // answers, but its ranks are gone
  // The trouble that a request arriving at `rank` meets; counts it.
  std::optional<FaultOrder> meets(std::uint32_t rank, TimePoint now);

  void arm(const FaultOrder& order, TimePoint now);  // of a request
  void refuse_until(TimePoint until) { refuses_until_ = std::max(refuses_until_, until); }
  // The process ends: all that is here is lost. It answers again at `back`, cold.
  void begin_life(TimePoint back, bool with_other_model);
  // Its ranks are gone, the front end answers on for `lies_for`.
  void begin_dying(TimePoint lies_until) { dead_ = true, lies_until_ = lies_until; }

 private:
  struct Standing {
    FaultOrder order;
    std::uint32_t left;
    TimePoint until;
  };

  EngineSetup setup_;
  std::string model_;
  std::vector<Rank> ranks_;
  Balancer balancer_;
  std::uint64_t seed_;
  TimePoint published_{};
  bool ever_published_ = false;
  std::vector<RankCounts> counts_;
  std::uint32_t life_ = 0;
  TimePoint refuses_until_{}, lies_until_{};
  bool dead_ = false;
  std::vector<Standing> standing_;
};

}  // namespace wg::sim
