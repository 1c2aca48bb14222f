// What will be answered, decided before the engine begins: the tokens, and why they end. Pure.
// Invariant: the same prompt, seed and wishes give the same answer, whatever else is going on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.h"
#include "replica/ask.h"
#include "replica/tokenizer.h"
#include "sim/engine.h"
#include "sim/preset.h"

namespace wg::replica {

enum class Ending : std::uint8_t { stop, length, tool_calls, abort };

// What request headers asked for.
struct Wishes {
  std::optional<std::uint32_t> tokens;  // x-output-tokens
  std::optional<Ending> ending;         // x-finish
};

struct Plan {
  TokenList tokens;
  Ending ending = Ending::stop;
  std::string tool;  // of a tool call: whose; the answer's bytes [arguments_begin, arguments_end) are its arguments
  std::size_t arguments_begin = 0, arguments_end = 0;

  bool is_tool_call() const { return !tool.empty(); }
  sim::FinishReason engine_ending() const {
    return ending == Ending::length ? sim::FinishReason::length : sim::FinishReason::stop;
  }
};

// How long: what the header says; else max_tokens if the body insists (ignore_eos) or it is not above the longest
// answer of `lengths`; else drawn from `lengths`. max_tokens always cuts.
Plan plan_answer(const Ask& ask, const Wishes& wishes, const sim::TokenRange& lengths, const SessionKey& prompt,
                 std::uint64_t seed);

}  // namespace wg::replica
