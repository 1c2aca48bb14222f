#include "record/escape.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace wg::record {
namespace {

enum class Form : std::uint8_t { json, quoted, sentence };

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: the next byte begins no valid UTF-8
};

// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
CodePoint first_of(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t head = byte(0);
  if (head < 0x80) return {head, 1};
  const std::size_t length = head >= 0xF0 ? 4 : head >= 0xE0 ? 3 : 2;
  if (head < 0xC2 || head > 0xF4 || text.size() < length) return {};
  std::uint32_t value = head & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < lowest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, length};
}

bool is_unprintable(std::uint32_t value) {
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || value == 0x2028 || value == 0x2029 ||
         (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
}

void append_hex(std::string& line, std::uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) line += "0123456789abcdef"[value >> shift & 0xFu];
}

void append_unprintable(std::string& line, std::uint32_t value) {
  switch (value) {
    case '\n':
      line += "\\n";
      return;
    case '\r':
      line += "\\r";
      return;
    case '\t':
      line += "\\t";
      return;
    default:
      line += "\\u", append_hex(line, value, 4);
  }
}

void append_broken_byte(std::string& line, char c, Form form) {
  if (form == Form::json) {
    line += "\\ufffd";
  } else {
    line += "\\x";
    append_hex(line, static_cast<unsigned char>(c), 2);
  }
}

// What stands in a line as it is: in quotes, and (a word) even without them.
constexpr bool is_plain(char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; }

template <class Test>
constexpr std::array<bool, 256> table_of(Test test) {
  std::array<bool, 256> table{};
  for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = test(static_cast<char>(i));
  return table;
}

constexpr auto plain = table_of(is_plain);
constexpr auto plain_word = table_of([](char c) { return is_plain(c) && c != ' ' && c != '='; });

bool all_of(const std::array<bool, 256>& allowed, std::string_view text) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return allowed[static_cast<unsigned char>(c)]; });
}

void append_escaped(std::string& line, std::string_view text, Form form) {
  if (all_of(plain, text)) {
    line += text;
    return;
  }
  while (!text.empty()) {
    const CodePoint next = first_of(text);
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    if (next.bytes == 0)
      append_broken_byte(line, text.front(), form);
    else if (is_unprintable(next.value))
      append_unprintable(line, next.value);
    else {
      if (form != Form::sentence && (next.value == '"' || next.value == '\\')) line += '\\';
      line += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
}

bool is_plain_word(std::string_view text) { return !text.empty() && all_of(plain_word, text); }

}  // namespace

void append_json_string(std::string& line, std::string_view text) {
  line += '"';
  append_escaped(line, text, Form::json);
  line += '"';
}

void append_word(std::string& line, std::string_view text) {
  if (is_plain_word(text)) {
    line += text;
    return;
  }
  line += '"';
  append_escaped(line, text, Form::quoted);
  line += '"';
}

void append_sentence(std::string& line, std::string_view text) { append_escaped(line, text, Form::sentence); }

std::string_view clipped(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0u) == 0x80u) --longest;
  return text.substr(0, longest);
}

}  // namespace wg::record
