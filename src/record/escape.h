// Text from clients and engines, made fit for a line of the log: no line ends, no control characters (C0, C1, line and
// paragraph separators, direction overrides), no broken UTF-8. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace wg::record {

void append_json_string(std::string& line, std::string_view text);  // with its quotes; always valid JSON
void append_word(std::string& line, std::string_view text);         // bare if it is one plain word, else quoted
void append_sentence(std::string& line, std::string_view text);     // never quoted

// The first `longest` bytes, cut between characters.
std::string_view clipped(std::string_view text, std::size_t longest);

}  // namespace wg::record
