// The whole vocabulary between the fleet and the world. Everything that can influence a decision comes in as an Event;
// everything that the fleet wants done goes out as a Command. Values only: events can be recorded and fed again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "policy/load.h"
#include "policy/retry.h"

namespace wg::fleet {

// ---- events -------------------------------------------------------------------------------------------------------

// An engine answered discovery (again): its replicas are made, or made anew if model or rank count changed.
struct EngineFound {
  EngineIndex engine = 0;
  std::optional<PoolIndex> pool;  // the pool it joins now; empty: the one of its EngineSpec
  std::string model;              // the name it serves under
  std::uint32_t ranks = 1;
  bool steerable = true;  // knows X-data-parallel-rank (vLLM, SGLang), or has a single rank
  std::optional<std::uint32_t>
      max_concurrent;                       // sequences a replica runs at once; empty: unknown (threshold is assumed)
  std::optional<Tokens> kv_capacity;        // per replica
  std::optional<bool> prefix_caching = {};  // whether it keeps prefixes; empty: it does not tell
  bool kv_is_8_bit = false;                 // its KV cache has 8 bits a value already
};

// One metrics scrape of a rank.
struct ReplicaSampled {
  EngineIndex engine = 0;
  std::uint32_t rank = 0;
  double running = 0, waiting = 0;
  std::optional<double> kv_usage;
  // Counters since the engine's start: prompt tokens looked up and found, running requests put back. 0: not told.
  double prefix_queries = 0, prefix_hits = 0, preemptions = 0;
};

// /health and a metrics scrape both succeeded / one of them failed.
struct ProbeGood {
  EngineIndex engine = 0;
};
struct ProbeBad {
  EngineIndex engine = 0;
  bool refused = false;
};

enum class RequestClass : std::uint8_t { turn, sub_agent, background, untracked };

// Who sits at the other end, as far as the session key's source tells: an agent sends its next turn when its tools are
// done, a chat window when a person has read and typed.
enum class ClientKind : std::uint8_t { unknown, agent, chat };

struct RequestArrived {
  RequestId request = 0;
  PoolIndex pool = 0;
  SessionKey session, lineage, parent;  // zero: none
  RequestClass kind = RequestClass::turn;
  Tokens prompt_estimate;
  bool steerable_path = true;     // false: /v1/responses, embeddings, ...: ranks ignore the rank header there
  SessionKey pinned_to_response;  // hash of previous_response_id or of the id in the path; zero: none
  bool must_be_pinned = false;    // GET /v1/responses/{id}: without a known maker there is nowhere to go
  SessionKey head = {};           // hash of system text and tools; zero: none
  std::int64_t text_bytes = 0;    // that become prompt; 0: not known
  std::uint32_t dialect = 0;      // whose texts have a tokens-per-byte ratio of their own; below `dialects`
  ClientKind client = ClientKind::unknown;
  bool ends_session = false;  // its client says that this is the last turn
};

inline constexpr std::uint32_t dialects = 8;

// Requests without a session, and those that only look at a stored answer, leave no trace in the table of sessions.
inline bool has_session(const RequestArrived& asked) {
  return asked.session && asked.kind != RequestClass::untracked && !asked.must_be_pinned;
}

// What a sub-agent asks: its parent waits for it.
inline bool is_child(const RequestArrived& asked) { return asked.parent && asked.kind == RequestClass::sub_agent; }

using Failure = policy::Failure;

// The attempt under way came to nothing and no byte of it has reached the client: what now?
struct AttemptFailed {
  RequestId request = 0;
  Failure failure = Failure::refused;
};

struct FirstByte {
  RequestId request = 0;
};
struct FirstContent {
  RequestId request = 0;
};

// How an answer ended, and so what its session waits for now.
enum class AnswerEnd : std::uint8_t { unknown, turn, tool_call, cut };

struct UsageReported {
  RequestId request = 0;
  Tokens prompt, cached, output;
  bool measured = false, cached_measured = false;
  AnswerEnd end = AnswerEnd::unknown;
  std::uint64_t tool = 0;  // hash of the name of the tool that was called; 0: none, or not known
  // Until the next turn, if somebody knows it: the simulator's oracle. Not recorded.
  std::optional<Duration> pause = {};
};

// A response id was seen in an answer: later requests that name it go where it was made.
struct ResponseMade {
  RequestId request = 0;
  SessionKey response;
};

enum class Outcome : std::uint8_t {
  ok,  // answered, also with an engine's 4xx/5xx passed on
  client_gone,
  died_mid_stream,  // reset or abort after bytes had reached the client
  engine_aborted,   // an unasked abort after bytes had reached the client
  failed,           // no attempt left, or a time-out
  refused_by_us     // no replica, bad request
};

// The end of a request, exactly once for each RequestArrived: sent by the ticket's destructor, whatever happened.
struct Finished {
  RequestId request = 0;
  Outcome outcome = Outcome::ok;
};

struct SessionReleased {
  PoolIndex pool = 0;
  SessionKey session;
};
struct TimerFired {
  std::uint64_t timer = 0;
};

struct PolicyChanged {
  PoolIndex pool = 0;
  policy::PolicyName policy = policy::PolicyName::sticky;
  std::optional<std::uint32_t> spill_threshold;  // empty: auto
};

using Event =
    std::variant<EngineFound, ReplicaSampled, ProbeGood, ProbeBad, RequestArrived, AttemptFailed, FirstByte,
                 FirstContent, UsageReported, ResponseMade, Finished, SessionReleased, TimerFired, PolicyChanged>;

// ---- commands -----------------------------------------------------------------------------------------------------

struct Dispatch {
  RequestId request = 0;
  ReplicaIndex replica = no_replica;
  policy::Route route = policy::Route::placed;
  bool same_connection_rule = false;  // a stale connection's retry: open a fresh connection
};

struct Reject {
  RequestId request = 0;
  int status = 503;
  std::uint32_t retry_after_s = 1;    // 1..30
  std::string why;                    // for the client: no URLs
  bool pass_upstream_answer = false;  // a retry found no other replica: the engine's own answer goes out as it is
};

// It waits in the gateway: an answer to it comes later.
struct Hold {
  RequestId request = 0;
};

// TimerFired{timer} is wanted at that time. A later order for the same timer replaces an earlier one.
struct SetTimer {
  std::uint64_t timer = 0;
  TimePoint at;
};

// How often an engine is to be probed from now on.
struct ProbeEvery {
  EngineIndex engine = 0;
  Duration interval{};
};

// An engine is to be looked at now, and anew: a look that is under way may have seen what was before.
struct ProbeNow {
  EngineIndex engine = 0;
};

// The record of a decision, and of every change of health.
struct Note {
  enum class What : std::uint8_t {
    decision,
    engine_up,
    engine_down,
    engine_changed,
    policy_changed,
    home_dropped,
    cache_doubted  // what is believed of a replica's cache became less
  } what = What::decision;
  RequestId request = 0;
  EngineIndex engine = 0;
  ReplicaIndex replica = no_replica;
  policy::Route route = policy::Route::placed;
  const char* rule = "";  // a literal: which rule decided
  std::vector<policy::Candidate> candidates;
  SessionKey session = {};      // of a decision: whose
  Duration waited = {};         // ... and how long it was in the queue
  const char* waited_for = "";  // a literal: why it had to; empty: it did not
};

using Command = std::variant<Dispatch, Reject, ProbeEvery, Note, Hold, SetTimer, ProbeNow>;
using Commands = std::vector<Command>;

}  // namespace wg::fleet
