// One header field as it stood on the wire. Views: whoever holds the head's bytes owns them.
#pragma once

#include <span>
#include <string_view>

namespace wg {

struct Header {
  std::string_view name, value;
};
using Headers = std::span<const Header>;

// ASCII only: header names are tokens.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

// The first value of that name, or an empty view with a null data pointer.
constexpr std::string_view find_header(Headers headers, std::string_view name) {
  for (const Header& header : headers)
    if (equals_ignoring_case(header.name, name)) return header.value;
  return {};
}

}  // namespace wg
