// A recording of the fleet: what it was made of, every event with its time, and what it decided on each. Lines of text,
// each a JSON array without nesting. Bodies never come here, session keys only as the hashes that the fleet has.
// Pure; any thread.
//   ["warmgate-recording",2]            ["fleet",...]  ["pool",...]  ["engine",...]
//   [NUMBER,MICROSECONDS,"arrived",...] an event; numbers count from 1 without gaps
//   ["=",NUMBER,"DIGEST","dispatch ..."] what it decided, and the digest behind it; only where it decided something
//   ["end",NUMBER,"DIGEST"]             how many events there were
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "fleet/fleet.h"

namespace wg::fleet {

inline constexpr std::uint32_t recording_version = 2;

// ---- writing: each with its line's end ----
std::string recording_head(const Spec& spec);
void append_event(std::string& out, std::uint64_t number, TimePoint at, const Event& event);
void append_decisions(std::string& out, std::uint64_t number, std::uint64_t digest, const Commands& commands);
std::string recording_end(std::uint64_t events, std::uint64_t digest);

// What a command says, in words that differ if the commands do: "dispatch 17 to replica 2, sticky".
std::string words_of(const Command& command);

// ---- reading ----
struct RecordedStep {
  std::uint64_t number = 0;
  std::size_t line = 0;  // in the file, from 1
  TimePoint at;
  Event event;
  std::optional<std::uint64_t> digest;  // behind it; empty: it decided nothing
  std::vector<std::string> decisions;
};

struct Recording {
  Spec spec;
  std::vector<RecordedStep> steps;
  bool has_end = false;
  std::uint64_t events = 0, digest = 0;  // as its end tells
  std::uint64_t lost_after = 0;          // events were lost behind this one, and what follows is not read; 0: none were
  std::uint64_t lost = 0;                // how many, as far as numbers tell
};

// The text of a whole file. The error begins with "line N: ".
Result<Recording> read_recording(std::string_view text);

}  // namespace wg::fleet
