// What a load has seen, turn by turn, in real time. Values only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace wg::bench {

struct Turn {
  TimePoint began, first_content, ended;
  Tokens prompt, cached, output;
  Duration waited{};            // in the gateway
  bool measured = true;         // false: the server reported no usage
  bool cached_measured = true;  // false: ... or did not say how much of the prompt was cached
  // Answered where the session's turn before was; nothing for first turns and where nobody says who answered.
  std::optional<bool> stayed;
};

struct EndedSession {
  TimePoint began, ended;
};

struct Measured {
  std::vector<Turn> turns;                              // good ones only, in the order in which they ended
  std::vector<EndedSession> sessions;                   // those that came to their end
  std::map<std::string, std::uint64_t> turns_by_place;  // of the replicas that answered
  std::uint64_t failures = 0;
  std::map<std::string, std::uint64_t> failures_by_kind;  // a few words each: "status 503", "reset"
  std::string last_failure;
  std::vector<std::uint32_t> busy;           // replicas with something in flight, at each poll; may be empty
  std::optional<std::uint64_t> preemptions;  // as the engines count them
  TimePoint began, ended;                    // of the whole load
};

}  // namespace wg::bench
