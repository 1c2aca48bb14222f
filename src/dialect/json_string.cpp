#include "dialect/json_string.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace wg::dialect {
namespace {

constexpr char32_t replacement = 0xFFFD;
constexpr char32_t nothing = ~char32_t{0};  // of a broken escape only the backslash is dropped

struct Escape {
  char32_t character;
  std::size_t length;  // raw bytes of it, from the backslash on
};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hex digits; -1 if there are none.
std::int32_t code_unit(std::string_view raw, std::size_t at) {
  if (at + 4 > raw.size()) return -1;
  std::int32_t unit = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const int digit = hex_digit(raw[i]);
    if (digit < 0) return -1;
    unit = unit << 4 | digit;
  }
  return unit;
}

Escape unicode_escape(std::string_view raw, std::size_t at) {
  const std::int32_t high = code_unit(raw, at + 2);
  if (high < 0) return {nothing, 1};
  if (high < 0xD800 || high > 0xDFFF) return {static_cast<char32_t>(high), 6};
  if (high > 0xDBFF || raw.substr(at + 6, 2) != "\\u") return {replacement, 6};
  const std::int32_t low = code_unit(raw, at + 8);
  if (low < 0xDC00 || low > 0xDFFF) return {replacement, 6};
  return {static_cast<char32_t>(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)), 12};
}

Escape escape_at(std::string_view raw, std::size_t at) {
  if (at + 1 >= raw.size()) return {'\\', 1};
  switch (raw[at + 1]) {
    case 'n':
      return {'\n', 2};
    case 't':
      return {'\t', 2};
    case 'r':
      return {'\r', 2};
    case 'b':
      return {'\b', 2};
    case 'f':
      return {'\f', 2};
    case '"':
    case '\\':
    case '/':
      return {static_cast<char32_t>(raw[at + 1]), 2};
    case 'u':
      return unicode_escape(raw, at);
    default:
      return {nothing, 1};
  }
}

constexpr std::size_t utf8_size(char32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

void append_utf8(std::string& out, char32_t c) {
  static constexpr std::array<unsigned char, 5> lead = {0, 0, 0xC0, 0xE0, 0xF0};
  const std::size_t size = utf8_size(c);
  std::array<char, 4> bytes{};
  for (std::size_t i = size; i-- > 1; c >>= 6) bytes[i] = static_cast<char>(0x80 | (c & 0x3F));
  bytes[0] = static_cast<char>(lead[size] | c);
  out.append(bytes.data(), size);
}

// A bit for each byte of a block of up to 64 that equals c, the first one lowest.
std::uint64_t equal_bytes(std::string_view block, char c) {
  std::uint64_t bits = 0;
  std::size_t at = 0;
#ifdef __SSE2__
  const __m128i wanted = _mm_set1_epi8(c);
  for (; at + 16 <= block.size(); at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.data() + at));
    bits |= std::uint64_t(static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)))) << at;
  }
#endif
  for (; at < block.size(); ++at) bits |= std::uint64_t{block[at] == c} << at;
  return bits;
}

// Which bytes a backslash escapes. `carry`: whether the first one is; it is set for the block to follow.
std::uint64_t escaped_bytes(std::uint64_t slashes, bool& carry) {
  slashes &= ~std::uint64_t{carry};
  std::uint64_t openers = slashes;
  if (slashes & slashes << 1) {  // in a run of them each second one is itself escaped
    openers = 0;
    for (std::uint64_t rest = slashes; rest != 0;) {
      const std::uint64_t opener = rest & (~rest + 1);
      openers |= opener;
      rest &= ~(opener | opener << 1);
    }
  }
  const std::uint64_t escaped = openers << 1 | std::uint64_t{carry};
  carry = openers >> 63 != 0;
  return escaped;
}

// The length of a beginning, in blocks of 64 bytes, in which no backslash stands before another or before a 'u': there
// each saves one byte. The first byte must not be escaped itself; nor is then the first one behind that length.
std::size_t skip_simple_escapes(std::string_view raw, std::size_t& saved) {
  std::size_t at = 0;
#ifdef __SSE2__
  const __m128i slash = _mm_set1_epi8('\\'), unit = _mm_set1_epi8('u'), zero = _mm_setzero_si128();
  __m128i total = zero;  // two 64-bit sums
  for (; at + 65 <= raw.size(); at += 64) {
    __m128i slashes = zero, special = zero;
    for (std::size_t part = at; part < at + 64; part += 16) {
      const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(raw.data() + part));
      const __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i*>(raw.data() + part + 1));
      const __m128i found = _mm_cmpeq_epi8(here, slash);
      const __m128i follows = _mm_or_si128(_mm_cmpeq_epi8(next, slash), _mm_cmpeq_epi8(next, unit));
      special = _mm_or_si128(special, _mm_and_si128(found, follows));
      slashes = _mm_sub_epi8(slashes, found);
    }
    if (_mm_movemask_epi8(special) != 0) break;
    total = _mm_add_epi64(total, _mm_sad_epu8(slashes, zero));
  }
  std::uint64_t sums[2];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(sums), total);
  saved += sums[0] + sums[1];
#endif
  return at;
}

// Escapes stand close together in source code and far apart in base64: a few bytes are looked at by hand before memchr
// is worth its call.
std::size_t next_backslash(std::string_view raw, std::size_t at) {
  const std::size_t near = std::min(raw.size(), at + 8);
  for (; at < near; ++at)
    if (raw[at] == '\\') return at;
  if (at == raw.size()) return at;
  const void* found = std::memchr(raw.data() + at, '\\', raw.size() - at);
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - raw.data()) : raw.size();
}

}  // namespace

void append_decoded(std::string& out, std::string_view raw) {
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t stop = next_backslash(raw, at);
    out.append(raw.substr(at, stop - at));
    if (stop == raw.size()) return;
    const Escape escape = escape_at(raw, stop);
    if (escape.character != nothing) append_utf8(out, escape.character);
    at = stop + escape.length;
  }
}

std::string decoded(std::string_view raw) {
  std::string out;
  append_decoded(out, raw);
  return out;
}

// Most bytes of a request go through here and source code has an escape every twenty of them: where each is one
// backslash before one byte, they are only counted.
std::size_t decoded_size(std::string_view raw) {
  std::size_t saved = 0, behind_pair = 0;
  bool starts_escaped = false;
  for (std::size_t at = 0; at < raw.size(); at += 64) {
    if (!starts_escaped) at += skip_simple_escapes(raw.substr(at), saved);
    const std::string_view block = raw.substr(at, 64);
    const std::uint64_t slashes = equal_bytes(block, '\\');
    if (slashes == 0 && !starts_escaped) continue;
    std::uint64_t escaped = escaped_bytes(slashes, starts_escaped);
    if (block.size() < 64) escaped &= (std::uint64_t{1} << block.size()) - 1;
    saved += static_cast<std::size_t>(std::popcount(escaped));
    for (std::uint64_t units = escaped & equal_bytes(block, 'u'); units != 0; units &= units - 1) {
      const std::size_t slash = at + static_cast<std::size_t>(std::countr_zero(units)) - 1;
      if (slash < behind_pair) continue;
      const Escape escape = escape_at(raw, slash);
      if (escape.length < 6) continue;
      if (escape.length == 12) behind_pair = slash + 12;
      saved += escape.length - utf8_size(escape.character) - escape.length / 6;  // one for each was counted above
    }
  }
  return raw.size() - saved;
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0) {
      append_utf8(out, replacement);
    } else if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[at];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out.append(text.substr(at, length));
    }
    at += std::max<std::size_t>(length, 1);
  }
  out += '"';
}

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(at);
  if (lead < 0x80) return at < text.size() ? 1 : 0;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(at + 1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF)  // E0: overlong below A0; ED: surrogates from A0 on
    return follows(at + 1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && follows(at + 2) ? 3 : 0;
  if (lead >= 0xF0 && lead <= 0xF4)  // F0: overlong below 90; F4: beyond U+10FFFF from 90 on
    return follows(at + 1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && follows(at + 2) && follows(at + 3)
               ? 4
               : 0;
  return 0;
}

}  // namespace wg::dialect
