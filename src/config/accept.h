// Which texts a key takes, beyond their length. Pure; any thread.
#pragma once

#include <string_view>

namespace wg::config {

bool is_visible(std::string_view text);         // ASCII from ! to ~
bool is_alias(std::string_view text);           // visible, at most 256
bool is_engine_name(std::string_view text);     // part of a replica's id: no slash
bool is_variable_name(std::string_view text);   // of the environment
bool is_session_header(std::string_view name);  // a token, and none of those that never name a session
bool is_forwarded_path(std::string_view text);  // "/path" or "GET /path"

}  // namespace wg::config
