// Cheap looks into an event's JSON, so that the many that carry only text need no parsing. A mark is a hint: text can
// never hold one as JSON writes it, since a quote inside a string is escaped (\"usage\": has a backslash before its
// closing quote); where a string happens to equal the bare name, the event is parsed in vain and no harm is done.
// Pure; any thread.
#pragma once

#include <string_view>

namespace wg::dialect {

// `quoted` stands in the JSON; give it with its quotes.
bool contains(std::string_view json, std::string_view quoted);

// `quoted` stands there as a key, at any depth, whose value is not null.
bool has_value(std::string_view json, std::string_view quoted);

}  // namespace wg::dialect
