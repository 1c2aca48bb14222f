// What can go wrong with an engine, by name: the same words in scenarios, in `warmgate replica`'s POST /fault and in
// its header x-fault. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
  html_error,   // 502 with a page of HTML
  error_first,  // 200 whose first event is a server error
  // of HTTP: `warmgate replica` does them, the virtual fleet has no bytes to do them with
  wrong_length,     // Content-Length promises more than comes
  truncated_chunk,  // a chunk is cut, then the connection closed
  slow_first_byte   // the head comes late
};

constexpr bool is_of_process(FaultKind kind) { return kind >= FaultKind::refuse && kind <= FaultKind::other_model; }
constexpr bool is_of_http(FaultKind kind) { return kind >= FaultKind::wrong_length; }

std::string_view name_of(FaultKind kind);
std::optional<FaultKind> fault_named(std::string_view name);
// All that may be ordered, for people; `with_http`: also those of HTTP.
std::string fault_names(bool with_http);

}  // namespace wg::sim
