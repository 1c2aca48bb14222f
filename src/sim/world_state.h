// What the virtual driver knows, and what it does with each thing that is due. Private to world*.cpp.
// Invariants: a request is in `asked` from ask() to its one answer; while an attempt of it is under way it is listed at
// that rank; the fleet is stepped from the inbox only, one event after the other, never from within a step.
// Owner: the world.
#pragma once

#include <deque>
#include <queue>
#include <unordered_map>

#include "sim/world.h"

namespace wg::sim {

struct World::State {
  State(const WorldSpec& from, Clients& who);

  // One request from ask() to its answer.
  struct Open {
    Question question;
    Answer answer;
    bool told = false;  // the fleet knows of it
    EngineIndex engine = 0;
    std::uint32_t rank = 0;
    bool under_way = false;  // an attempt is: it is on its way to `engine`
    bool arrived = false;    // ... or there, listed at `rank`
    bool submitted = false;  // ... and the engine works on it
    bool reused = false;     // ... over a connection that was kept
    std::optional<FaultOrder> fault;
    bool stalled = false;              // what the engine says is held back ...
    std::optional<StepOutput> unsaid;  // ... of which this is the latest
    std::uint32_t tokens = 0;          // of this attempt, said
    int refusal = 0;                   // status of an answer that the last attempt held back
  };

  enum class What : std::uint8_t { ask, step_begin, step_end, probe, arrive, unstall, timeout, down, timer, wake };
  struct Due {
    TimePoint at;
    std::uint64_t order = 0;  // of what is due at the same time, the earliest said comes first
    What what = What::wake;
    EngineIndex engine = 0;
    std::uint32_t rank = 0;
    std::uint32_t life = 0;  // of the engine, of its probes, or the number of the attempt: stale if it has moved on
    std::uint64_t id = 0;    // a request, or a tag

    bool operator>(const Due& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Prober {
    Duration interval = std::chrono::milliseconds(200);
    TimePoint looked{};
    std::uint32_t life = 0;
    bool known = false;  // discovered since it was last down
    std::string model;
  };
  struct Row {
    EngineIndex engine = 0;
    std::optional<std::uint32_t> rank;
  };

  // world.cpp
  void push(TimePoint at, What what, EngineIndex engine, std::uint32_t rank, std::uint32_t life, std::uint64_t id);
  void handle(const Due& due);
  void tell(const fleet::Event& event);
  void carry_out(const fleet::Command& command);
  Open* find(RequestId request);
  Open* attempt(const Due& due);
  void begin_step(EngineIndex engine, std::uint32_t rank);
  void end_step(EngineIndex engine, std::uint32_t rank);
  void wake_rank(EngineIndex engine, std::uint32_t rank);

  // world_attempts.cpp: what the gateway's stages do, outcome by outcome
  void begin_attempt(const fleet::Dispatch& dispatch);
  void begin_past(RequestId request, Open& open);
  void arrive(RequestId request, Open& open);
  void work(RequestId request, Open& open);
  void stall(RequestId request, Open& open);
  void unstall(RequestId request, Open& open);
  void on_output(RequestId request, const StepOutput& output);
  void say(RequestId request, Open& open, const StepOutput& output);
  void fail_attempt(RequestId request, Open& open, fleet::Failure failure);
  void let_go(RequestId request, Open& open);
  void rejected(const fleet::Reject& reject);
  void end(RequestId request, Open& open, fleet::Outcome outcome);
  void break_connection(RequestId request);  // by the engine
  void abort_unasked(RequestId request);
  void leave(RequestId request);

  // world_engines.cpp: probes and troubles
  void look(EngineIndex engine);
  void set_interval(EngineIndex engine, Duration interval);
  void look_now(EngineIndex engine);
  void inject(const FaultOrder& order);
  void go_down(EngineIndex engine, Duration lasts, bool with_other_model);
  std::vector<RequestId> all_at(EngineIndex engine) const;

  WorldSpec spec;
  Clients& clients;
  fleet::Fleet fleet;
  std::vector<ModelEngine> engines;
  std::vector<Prober> probers;
  std::vector<std::vector<TimePoint>> kept;   // idle connections by engine: since when
  std::vector<Row> rows;                      // by ReplicaIndex
  std::unordered_map<RequestId, Open> asked;  // looked up only, never walked
  std::priority_queue<Due, std::vector<Due>, std::greater<>> heap;
  std::size_t probes_due = 0;
  std::uint64_t pushed = 0;
  RequestId last_request = 0;
  TimePoint now{};
  std::deque<fleet::Event> inbox;
  bool stepping = false;
  const char* last_rule = "";
  std::vector<StepOutput> outputs;  // kept for its memory
};

}  // namespace wg::sim
