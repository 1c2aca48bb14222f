// Errors and signs of life in the client's own dialect. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "dialect/api.h"

namespace wg::dialect {

// OpenAI: {"error":{"message","type","param":null,"code":status}}; Anthropic:
// {"type":"error","error":{"type","message"}} with its own type names (400 invalid_request_error, 401
// authentication_error, 404 not_found_error, 413 request_too_large, 429 rate_limit_error, 503/529 overloaded_error, 504
// timeout_error, else api_error).
std::string error_body(Shape shape, int status, std::string_view message);

// The same inside a stream whose headers are out: "event: error\n..." for messages and responses, "data: {...}\n\n" for
// the others. Whole events, with the blank line; begins with a blank line of its own if `mid_event` (an event was cut).
std::string error_event(Api api, int status, std::string_view message, bool mid_event);

// Anthropic's ping event for messages, an SSE comment for the others.
std::string_view ping_event(Api api);

// The message inside an engine's error body or event of either shape (also {"error":"text"}, {"detail":...}); empty if
// none is found.
std::string error_message(std::string_view body_or_event);

}  // namespace wg::dialect
