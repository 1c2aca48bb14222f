// Finds the ends of SSE events in a byte stream without copying or understanding them. CR, LF and CRLF line ends, split
// anywhere. Sans I/O; one scanner a stream.
#pragma once

#include <cstddef>
#include <string_view>

namespace wg::http {

class SseScanner {
 public:
  // Looks at the next bytes of the stream and returns the offset just behind the first event that ends in them
  // (its blank line included), or npos if none does. Call again with the rest for the next one.
  std::size_t next_end(std::string_view bytes);
  // True between events: all bytes so far belong to complete events.
  bool between_events() const { return between_; }

  static constexpr std::size_t npos = ~std::size_t{0};

 private:
  enum class At : unsigned char { line_start, in_line, after_cr_in_event, after_cr_blank } at_ = At::line_start;
  bool between_ = true;
};

}  // namespace wg::http
