// What can go wrong with a modelled engine, by name. The names are those of `warmgate replica`'s /fault and x-fault.
// Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "core/units.h"

namespace wg::sim {

enum class FaultKind : std::uint8_t {
  none,
  refuse,            // the port does not listen; what runs goes on
  reset,             // a request's connection is reset before the head
  reset_after_head,  // ... after the head, before the first event
  stall,             // nothing comes for a request, for as long as the order says
  die,               // a stream is reset after a few tokens
  busy,              // 503
  error,             // 500
  error_first,       // 200 with a server error as first event
  group_death,       // a rank dies: its streams are reset, the others' end with abort, /health lies for 5 s
  restart,           // the process ends, and comes back with a cold cache
  other_model        // ... and serves another model
};

std::string_view name_of(FaultKind kind);
std::optional<FaultKind> fault_named(std::string_view name);
std::string fault_names();

struct FaultOrder {
  EngineIndex engine = 0;
  FaultKind kind = FaultKind::none;
  std::optional<std::uint32_t> rank;  // only requests of that rank; empty: all
  std::uint32_t count = 0;            // that many requests; 0: all, for `lasts`
  Duration lasts{};                   // 0: until count is used up
};

}  // namespace wg::sim
