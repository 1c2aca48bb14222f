#include "dialect/answer_marks.h"

#include <cstring>

namespace wg::dialect {
namespace {

// string_view::find looks for the first byte, and every mark begins with a quote, of which JSON is full.
std::size_t find(std::string_view text, std::string_view what, std::size_t from) {
  if (text.size() - from < what.size()) return std::string_view::npos;  // an empty text may have no bytes to point to
  const void* found = memmem(text.data() + from, text.size() - from, what.data(), what.size());
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) : std::string_view::npos;
}

}  // namespace

bool contains(std::string_view json, std::string_view quoted) {
  return find(json, quoted, 0) != std::string_view::npos;
}

bool has_value(std::string_view json, std::string_view quoted) {
  static constexpr std::string_view space = " \t\r\n";
  for (std::size_t at = find(json, quoted, 0); at != std::string_view::npos; at = find(json, quoted, at)) {
    at += quoted.size();
    std::size_t next = json.find_first_not_of(space, at);
    if (next == std::string_view::npos || json[next] != ':') continue;
    next = json.find_first_not_of(space, next + 1);
    if (next != std::string_view::npos && !json.substr(next).starts_with("null")) return true;
  }
  return false;
}

}  // namespace wg::dialect
