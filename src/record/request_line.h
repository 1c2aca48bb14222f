// A request as a line of the log, without its time and level. Invariant: one line, whatever clients and engines wrote.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "record/request_log.h"

namespace wg::record {

enum class LineForm : std::uint8_t { text, json };

// text: `request id=... method=POST ...`, fields that do not apply left out.
// json: `"event":"request","id":"...",...` without braces: always the same fields, null where they do not apply.
void append_request(std::string& line, const RequestRecord& record, LineForm form);

// text: the sentence; json: `"event":"message","message":"..."`.
void append_message(std::string& line, std::string_view message, LineForm form);

}  // namespace wg::record
