// What can go wrong with a modelled engine, by name. Names and meaning are those of `warmgate replica`'s POST /fault.
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
  // of the whole process
  refuse,        // connections are refused for a while, what runs goes on
  die_group,     // its ranks are gone, streams end with abort; /health lies for 5 s; then it is down
  cold_restart,  // all connections are reset; back after a while with empty caches
  other_model,   // the same, and back with another model
  // of a request
  reset_before_head,
  reset_after_head,
  stall_head,   // nothing at all for a while
  stall_first,  // the head, then nothing
  stall_mid,    // some tokens, then nothing
  die_mid,      // reset after some tokens
  status_500,
  html_error,  // 502
  error_first  // 200 whose first event is a server error
};

constexpr bool is_of_process(FaultKind kind) { return kind >= FaultKind::refuse && kind <= FaultKind::other_model; }

std::string_view name_of(FaultKind kind);
std::optional<FaultKind> fault_named(std::string_view name);
std::string fault_names();

struct FaultOrder {
  EngineIndex engine = 0;
  FaultKind kind = FaultKind::none;
  std::optional<std::uint32_t> rank;   // only requests there
  std::optional<std::uint32_t> count;  // so many requests; absent: one, or all for `lasts`
  std::optional<Duration> lasts;       // armed, or down, or stalled for so long
  std::uint32_t after_tokens = 4;      // where mid-stream is
};

}  // namespace wg::sim
