// A scenario file as values: a fleet, sessions, and what happens when, with what is expected of it. docs/scenarios.md
// is the reference of the format. Values only.
// Invariant of a parsed scenario: names that steps use are defined, values have the type that their key wants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "policy/load.h"
#include "sim/fault.h"

namespace wg::sim {

enum class Compare : std::uint8_t { equal, unequal, at_least, at_most };

// name OP value, or a name alone (then value is "yes").
struct Expectation {
  std::string name, value;
  Compare compare = Compare::equal;
};

struct ScenarioFleet {
  std::string preset = "a4000-qwen3-4b";
  std::uint32_t engines = 1, ranks = 1;
  policy::PolicyName policy = policy::PolicyName::sticky;
  std::optional<std::uint32_t> spill;
  bool rehome = false;
  std::vector<std::string> aliases;
  std::optional<std::int64_t> kv_tokens;
  std::optional<std::uint32_t> max_num_seqs;
  std::string balancer;  // empty: the preset's
  double speed = 20;     // of the live run: so many times faster than real
};

struct ScenarioSession {
  std::string name;
  std::string dialect = "chat";
  std::string key = "claude-code";
  std::string parent;  // a session's name
  std::string model;   // empty: the pool's own name
  std::int64_t head = 1'000, first = 1'000;
  bool streamed = true;
  std::optional<std::uint32_t> engine;  // it talks to that engine itself, past the gateway
};

enum class Verb : std::uint8_t { turn, title, rekey, compact, fault, policy, until, expect };

// Where a fault strikes: an engine's name, or a session whose home's engine it is.
struct FaultPlace {
  std::string engine, session;
  bool with_rank = false;  // only the rank that is the session's home
};

struct Step {
  std::uint32_t line = 0;
  enum class Start : std::uint8_t { at, after_end, after_begin } start = Start::at;
  Duration when{};
  Verb verb = Verb::turn;
  std::vector<std::string> sessions;

  // turn, title
  std::int64_t add = 400, out = 60;
  std::uint32_t times = 1;
  Duration pause{};  // between the times
  std::string model;
  bool ends_with_tool = false;  // the answer calls a tool, whose result comes soon
  std::optional<Duration> leave_after;
  std::optional<std::uint32_t> leave_at_token;
  // fault; of a turn: what it meets
  std::optional<FaultOrder> fault;
  FaultPlace place;
  // policy
  policy::PolicyName policy = policy::PolicyName::sticky;
  std::optional<std::uint32_t> spill;
  // until
  Duration within = std::chrono::seconds(60);

  std::vector<Expectation> expects;
};

struct Scenario {
  std::string file;
  ScenarioFleet fleet;
  std::vector<ScenarioSession> sessions;
  std::vector<Step> steps;
  std::uint32_t end_line = 0;
  std::vector<Expectation> at_end;
};

}  // namespace wg::sim
