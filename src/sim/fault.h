// A fault that a scenario orders of a modelled engine. Values only.
#pragma once

#include <cstdint>
#include <optional>

#include "core/ids.h"
#include "core/units.h"
#include "sim/fault_kind.h"

namespace wg::sim {

struct FaultOrder {
  EngineIndex engine = 0;
  FaultKind kind = FaultKind::none;
  std::optional<std::uint32_t> rank;   // only requests there
  std::optional<std::uint32_t> count;  // so many requests; absent: one, or all for `lasts`
  std::optional<Duration> lasts;       // armed, or down, or stalled for so long
  std::uint32_t after_tokens = 4;      // where mid-stream is
};

}  // namespace wg::sim
