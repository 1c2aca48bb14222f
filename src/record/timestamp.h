// The time of a log line: UTC, 2026-11-30T12:00:00.123Z.
#pragma once

#include <string>

namespace wg::record {

void append_timestamp(std::string& line);

}  // namespace wg::record
