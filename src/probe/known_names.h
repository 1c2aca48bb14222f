// Which metric of which engine means what: the one table of names, current and former. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "probe/engine_sample.h"

namespace wg::probe {

enum class Field : std::uint8_t {
  none,
  running,
  waiting,
  kv_usage,
  kv_capacity,
  queries,
  hits,
  prompt,
  cached,
  generated,
  preemptions,
  max_running,
  block_size,
  cache_config
};

// What to do when a page says the same thing twice about a rank. Neither depends on the order of the lines.
enum class Repeated : std::uint8_t {
  larger,  // several front ends or tensor-parallel ranks tell the same story: the furthest one is right
  sum      // split by a label that does not matter here (cache_source, is_streaming)
};

struct KnownName {
  EngineKind engine = EngineKind::unknown;
  std::string_view name;  // after the engine's prefix, without _total
  Field field = Field::none;
  Repeated repeated = Repeated::larger;
};

// The engine whose prefix (vllm:, sglang:, llamacpp:) the line begins with, or unknown. Two comparisons for most lines.
EngineKind engine_of(std::string_view line);
std::string_view prefix_of(EngineKind engine);
std::string_view rank_label_of(EngineKind engine);  // empty: the engine has no ranks

// `name` is what follows the prefix; counters may carry their _total. nullptr: of no interest.
const KnownName* find_known(EngineKind engine, std::string_view name);

}  // namespace wg::probe
