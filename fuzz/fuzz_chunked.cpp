// libFuzzer: chunked bodies. The first byte says where the rest is cut and how large the body may be. Whole, cut and
// byte by byte are read alike; what is taken as a whole body is exactly what a second, slow reader takes; and the body
// framed again by the writer is read again.
#include <optional>
#include <string>
#include <vector>

#include "http/body_reader.h"
#include "http/bytes.h"
#include "http/h1.h"
#include "require.h"

namespace {

using namespace wg::http;
using wg::fuzz::require;

struct Read {
  int error = 0;
  bool ended = false;
  std::size_t consumed = 0;
  std::string body;
  bool operator==(const Read& other) const {
    return error == other.error && body == other.body && (error != 0 || consumed == other.consumed) &&
           ended == other.ended;
  }
};

Read read(std::string_view bytes, std::size_t step, std::uint64_t limit) {
  BodyReader reader;
  reader.begin_chunked(limit);
  Read out;
  while (out.consumed < bytes.size() && !reader.ended()) {
    const std::vector<char> piece(
        bytes.begin() + static_cast<std::ptrdiff_t>(out.consumed),
        bytes.begin() + static_cast<std::ptrdiff_t>(std::min(out.consumed + step, bytes.size())));
    std::vector<std::string_view> spans;
    const auto taken = reader.feed({piece.data(), piece.size()}, spans);
    for (const std::string_view span : spans) out.body += span;
    if (!taken) {
      out.error = taken.error().status;
      return out;
    }
    require(*taken <= piece.size() && (*taken == piece.size() || reader.ended()),
            "a piece is taken whole until the end");
    out.consumed += *taken;
  }
  out.ended = reader.ended();
  return out;
}

bool all(std::string_view text, bool (*good)(char)) {
  for (const char c : text)
    if (!good(c)) return false;
  return true;
}
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_plain(char c) { return !is_control(c); }

// RFC 9112, 7.1, line by line. Nothing: not a whole chunked body.
std::optional<Read> slow_read(std::string_view bytes) {
  Read out;
  const auto line = [&]() -> std::optional<std::string_view> {
    const std::size_t end = bytes.find("\r\n", out.consumed);
    if (end == bytes.npos) return std::nullopt;
    const std::string_view text = bytes.substr(out.consumed, end - out.consumed);
    out.consumed = end + 2;
    return all(text, is_plain) ? std::optional(text) : std::nullopt;
  };
  for (;;) {
    const auto first = line();
    if (!first) return std::nullopt;
    const std::string_view digits = first->substr(0, first->find(';'));
    if (digits.empty() || digits.size() > 16 || !all(digits, is_hex)) return std::nullopt;
    const std::uint64_t size = std::stoull(std::string(digits), nullptr, 16);
    if (size == 0) break;
    if (size > bytes.size() - out.consumed) return std::nullopt;
    out.body += bytes.substr(out.consumed, size);
    out.consumed += size;
    if (bytes.substr(out.consumed, 2) != "\r\n") return std::nullopt;
    out.consumed += 2;
  }
  for (;;) {
    const auto trailer = line();
    if (!trailer) return std::nullopt;
    if (trailer->empty()) break;
    const std::size_t colon = trailer->find(':');
    if (colon == 0 || colon == trailer->npos || !all(trailer->substr(0, colon), is_token_byte)) return std::nullopt;
  }
  out.ended = true;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes = wg::fuzz::text_of(data + 1, size - 1);
  const std::uint64_t limit = (data[0] & 0x80) != 0 ? 64 : BodyReader::no_limit;
  const Read whole = read(bytes, bytes.size(), limit);
  require(read(bytes, (data[0] & 0x7fu) + 1u, limit) == whole, "cut and whole are alike");
  require(read(bytes, 1, limit) == whole, "byte by byte and whole are alike");
  require(whole.body.size() <= limit, "the limit holds");
  const auto expected = slow_read(bytes);
  if (whole.ended) require(expected && *expected == whole, "what is taken is a chunked body to the letter");
  const bool limited = whole.error == 413 || bytes.size() > BodyReader::skipped_limit;
  if (expected && !limited) require(whole.ended, "a chunked body to the letter is taken");
  if (!whole.ended) return 0;
  char room[24];
  std::string again;
  if (!whole.body.empty()) again.append(chunk_begin(whole.body.size(), room)).append(whole.body).append(chunk_end);
  again.append(last_chunk);
  const Read second = read(again, again.size(), limit);
  require(second.ended && second.consumed == again.size() && second.body == whole.body, "written again, read again");
  return 0;
}
