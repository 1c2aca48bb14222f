#include "http/body_reader.h"

#include <algorithm>

#include "http/bytes.h"

namespace wg::http {

namespace {

constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr unsigned size_digits = 16;  // all that 64 bits hold

}  // namespace

void BodyReader::begin_length(std::uint64_t bytes) {
  *this = {};
  if (bytes == 0) return;
  at_ = At::length;
  left_ = bytes;
}

void BodyReader::begin_chunked(std::uint64_t limit) {
  *this = {};
  at_ = At::size_begin;
  room_ = limit;
}

void BodyReader::begin_until_close() {
  *this = {};
  at_ = At::until_close;
}

Checked<std::size_t> BodyReader::feed(std::string_view in, std::vector<std::string_view>& body) {
  std::size_t i = 0;
  while (i < in.size() && at_ != At::end) {
    if (at_ == At::until_close) {
      body.push_back(in);
      return in.size();
    }
    if (at_ == At::data || at_ == At::length) {
      i += take_data(in.substr(i), body);
      continue;
    }
    if (auto ok = take_framing(in[i]); !ok) return tl::unexpected<Refusal>(std::move(ok.error()));
    ++i;
  }
  return i;
}

Checked<Progress> BodyReader::proceed(std::string_view in, std::vector<std::string_view>& body) {
  auto used = feed(in, body);
  if (!used) return tl::unexpected<Refusal>(std::move(used.error()));
  Progress progress;
  progress.consumed = *used;
  progress.complete = ended();
  return progress;
}

std::size_t BodyReader::take_data(std::string_view in, std::vector<std::string_view>& body) {
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size()));
  body.push_back(in.substr(0, size));
  left_ -= size;
  if (left_ == 0) at_ = at_ == At::data ? At::data_cr : At::end;
  return size;
}

Checked<void> BodyReader::take_framing(char c) {
  switch (at_) {
    case At::size_begin:
    case At::size:
      return take_size(c);
    case At::extension:
      return take_extension(c);
    case At::size_lf:
      if (c != '\n') return refuse(400, "a chunk size line ends with CR without LF");
      return end_size_line();
    case At::data_cr:
      return expect(c, '\r', At::data_lf);
    case At::data_lf:
      return expect(c, '\n', At::size_begin);
    default:
      return take_trailer(c);
  }
}

Checked<void> BodyReader::take_size(char c) {
  if (const int value = hex_value(c); value >= 0) {
    if (at_ == At::size_begin) left_ = digits_ = 0;
    if (++digits_ > size_digits) return refuse(400, "a chunk size of more than 16 digits");
    left_ = left_ << 4 | static_cast<std::uint64_t>(value);
    at_ = At::size;
    return {};
  }
  if (at_ == At::size && c == '\r') return go_to(At::size_lf);
  if (at_ == At::size && c == ';') {
    at_ = At::extension;
    return skip_one();
  }
  return refuse(400, "a chunk size holds byte " + std::to_string(static_cast<unsigned char>(c)) +
                         " where a hexadecimal digit, `;` or CRLF belongs");
}

// An extension that a bare LF could end is where two parsers start to disagree.
Checked<void> BodyReader::take_extension(char c) {
  if (c == '\r') return go_to(At::size_lf);
  if (is_control(c)) return refuse(400, "a control byte in a chunk extension");
  return skip_one();
}

Checked<void> BodyReader::end_size_line() {
  if (left_ > room_) return refuse(413, "the chunks add up to more than the body limit");
  room_ -= left_;
  at_ = left_ > 0 ? At::data : At::trailer_begin;
  return {};
}

Checked<void> BodyReader::take_trailer(char c) {
  switch (at_) {
    case At::trailer_begin:
      if (c == '\r') return go_to(At::last_lf);
      if (!is_token_byte(c)) return refuse(400, "a trailer line does not begin with a name");
      at_ = At::trailer_name;
      return skip_one();
    case At::trailer_name:
      if (c != ':' && !is_token_byte(c)) return refuse(400, "a trailer line without a colon behind its name");
      if (c == ':') at_ = At::trailer_value;
      return skip_one();
    case At::trailer_value:
      if (c == '\r') return go_to(At::trailer_lf);
      if (is_control(c)) return refuse(400, "a control byte in a trailer");
      return skip_one();
    case At::trailer_lf:
      return expect(c, '\n', At::trailer_begin);
    default:
      return expect(c, '\n', At::end);
  }
}

Checked<void> BodyReader::go_to(At next) {
  at_ = next;
  return {};
}

Checked<void> BodyReader::expect(char c, char wanted, At next) {
  if (c != wanted) return refuse(400, "chunk data or a line behind it does not end with CRLF");
  return go_to(next);
}

Checked<void> BodyReader::skip_one() {
  if (++skipped_ > skipped_limit)
    return refuse(400, "chunk extensions and trailers of more than " + std::to_string(skipped_limit) + " bytes");
  return {};
}

}  // namespace wg::http
