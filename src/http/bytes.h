// Small questions about bytes of a head, asked for every message: tokens, digits, control bytes. Pure, no state.
// Invariant: ASCII only, no locale. Internal to http/.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace wg::http {

// RFC 9110 5.6.2: what a field name and a coding are made of.
constexpr auto token_bytes = [] {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = table[static_cast<std::size_t>(c - 32)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

constexpr bool is_token_byte(char c) { return token_bytes[static_cast<unsigned char>(c)]; }

constexpr bool is_token(std::string_view text) {
  for (const char c : text)
    if (!is_token_byte(c)) return false;
  return !text.empty();
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Everything that must not stand inside a field value; tab may.
constexpr bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

// Spaces and tabs off both ends.
constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// How many control bytes (tab is none). Eight at a time: this looks at every byte of every head.
inline std::size_t count_controls(std::string_view text) {
  constexpr std::uint64_t ones = 0x0101010101010101, high = ones * 0x80, low = ~high;
  std::size_t count = 0, i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    const std::uint64_t below_space = ~((word | high) - ones * 0x20);
    const std::uint64_t delete_byte = (word & low) + ones;
    const std::uint64_t tab = word ^ ones * '\t';
    const std::uint64_t is_tab = ~(((tab & low) + low) | tab);
    count += static_cast<std::size_t>(std::popcount((below_space | delete_byte) & ~word & ~is_tab & high));
  }
  for (; i < text.size(); ++i) count += is_control(text[i]);
  return count;
}

// Decimal digits and nothing else, up to 19 of them (so that it can't overflow).
constexpr std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// Calls f with each member of a comma-separated list, trimmed; empty members are left out.
template <class F>
constexpr void for_each_member(std::string_view list, F&& f) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (const std::string_view member = trim(list.substr(0, comma)); !member.empty()) f(member);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

// For error messages: at most 40 bytes, anything not visible becomes '?'.
inline std::string printable(std::string_view text) {
  std::string out(text.substr(0, 40));
  for (char& c : out)
    if (c < 0x20 || c > 0x7e) c = '?';
  if (text.size() > 40) out += "...";
  return out;
}

}  // namespace wg::http
