// Finds the body bytes behind a head: none, a length, chunks, or until the connection ends. The chunk grammar is read
// to the letter: CRLF only, hex digits only; extensions are skipped and trailers dropped, both within 16 KiB a message.
// One a connection direction, no allocation. Internal to http/.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "http/h1.h"
#include "http/refusal.h"

namespace wg::http {

class BodyReader {
 public:
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t skipped_limit = 16 * 1024;

  void begin_none() { *this = {}; }
  void begin_length(std::uint64_t bytes);
  void begin_chunked(std::uint64_t limit);
  void begin_until_close();

  // Takes bytes up to the end of the body and says how many; appends the spans of `in` that are body.
  Checked<std::size_t> feed(std::string_view in, std::vector<std::string_view>& body);
  Checked<Progress> proceed(std::string_view in, std::vector<std::string_view>& body);  // ... as a parser tells it
  bool ended() const { return at_ == At::end; }
  bool until_close() const { return at_ == At::until_close; }

 private:
  enum class At : unsigned char {
    end,
    length,
    until_close,
    size_begin,
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_begin,
    trailer_name,
    trailer_value,
    trailer_lf,
    last_lf
  };
  std::size_t take_data(std::string_view in, std::vector<std::string_view>& body);
  Checked<void> take_size(char c);
  Checked<void> take_extension(char c);
  Checked<void> end_size_line();
  Checked<void> take_trailer(char c);
  Checked<void> take_framing(char c);
  Checked<void> go_to(At next);
  Checked<void> expect(char c, char wanted, At next);
  Checked<void> skip_one();

  At at_ = At::end;
  unsigned digits_ = 0;
  std::uint64_t left_ = 0;   // of the length, or of the chunk
  std::uint64_t room_ = 0;   // what further chunks may bring
  std::size_t skipped_ = 0;  // bytes of extensions and trailers so far
};

}  // namespace wg::http
