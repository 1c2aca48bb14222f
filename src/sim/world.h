// The virtual driver of the fleet: a heap of (time, event). fleet::Fleet decides; its commands go to modelled engines,
// whose tokens come back as the events that the live gateway would have made of them. No clock: time is what the heap
// says. Owner: one driver on one thread.
// Invariants: the same spec, seed and calls give the same answers and the same fleet digest; every request that was
// asked is answered exactly once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/fleet.h"
#include "sim/engine.h"
#include "sim/fault.h"
#include "sim/model_engine.h"
#include "sim/preset.h"

namespace wg::sim {

struct WorldSpec {
  fleet::Spec fleet;  // engines as in `engines`, in the same order
  std::vector<EngineSetup> engines;
  std::uint64_t seed = 1;
  Duration first_byte_timeout = std::chrono::seconds(600);
  Duration keeps_connections_for = std::chrono::seconds(4);  // idle ones, towards engines
};

// One pool of `engines` engines e0, e1, ... of `ranks` ranks each, as the preset describes them.
WorldSpec world_of(const Preset& preset, std::uint32_t engines, std::uint32_t ranks, policy::PolicyName policy);

// What a client asks. asked.request is the world's to fill in.
struct Question {
  fleet::RequestArrived asked;
  TokenChain prompt;
  std::vector<TokenId> answer;  // what the engine will say
  FinishReason ends_with = FinishReason::stop;
  fleet::AnswerEnd then = fleet::AnswerEnd::unknown;  // what its session waits for behind the answer
  std::optional<Duration> pause;                      // ... and for how long, if the gateway is to know it: an oracle
  bool streamed = true;
  bool opens_at_once = false;       // a stream whose first event comes before the first token (responses)
  std::optional<FaultOrder> fault;  // that it meets at each engine, as the header x-fault orders
  SessionKey response;              // of the response that its answer is, if it is one
  std::optional<EngineIndex> past;  // straight to that engine: the gateway never hears of it
};

// How it came out, as the client sees it.
struct Answer {
  RequestId request = 0;
  fleet::Outcome outcome = fleet::Outcome::ok;
  int status = 0;  // 0: the client left before there was one
  policy::Route route = policy::Route::placed;
  const char* rule = "";
  ReplicaIndex replica = no_replica;  // of its last attempt
  EngineIndex engine = 0;             // where that attempt was worked on, whoever chose it
  std::uint32_t rank = 0;
  std::uint32_t attempts = 0;
  FinishReason finish = FinishReason::none;
  Tokens prompt, cached, output;  // as the engine reports them; output: tokens that came
  bool measured = false;
  TimePoint arrived, ended;
  std::optional<TimePoint> dispatched;  // the first attempt
  std::optional<TimePoint> first_content;
};

// Who asks. Called by the world in the order of virtual time; may call ask, leave, wake and inject.
class Clients {
 public:
  virtual ~Clients() = default;
  virtual void token(RequestId, std::uint32_t /*how many so far*/) {}
  virtual void ended(const Answer& answer) = 0;
  virtual void woken(std::uint64_t /*tag*/) {}
};

class World {
 public:
  World(const WorldSpec& spec, Clients& clients);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // The first look at every engine is over: what is well is up. Time stays 0.
  void open();

  RequestId ask(Question question);  // its answer comes later, also if it is a refusal
  void leave(RequestId request);     // the client closes its connection; nothing if it has been answered
  void wake(TimePoint at, std::uint64_t tag);
  void inject(const FaultOrder& order);  // what happens to an engine, from now on
  void tell(const fleet::Event& event);  // what an operator does: PolicyChanged, SessionReleased

  // Caches that another world's engine left, one for each of its ranks, all of its size. Before anything runs.
  void warm_up(EngineIndex engine, std::vector<BlockCache> caches);
  // What an engine's ranks have in their caches, with nobody holding any of it. The world is not to be used after it.
  std::vector<BlockCache> take_caches(EngineIndex engine);

  // Handles all that is due up to and including `until`; time is then `until`.
  void run_until(TimePoint until);
  // Handles the next thing. False: nothing is left but probes.
  bool run_one();

  TimePoint now() const;
  const fleet::Fleet& fleet() const;
  const Engine& engine(EngineIndex engine, std::uint32_t rank) const;
  std::size_t open_requests() const;
  std::uint32_t ranks_in_use() const;               // ranks with a request, over all engines
  std::string name_of(ReplicaIndex replica) const;  // ENGINE/RANK, or ENGINE/any
  EngineIndex engine_of(ReplicaIndex replica) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wg::sim
