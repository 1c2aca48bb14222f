// Finds the ends of SSE events in a byte stream without copying or understanding them. CR, LF and CRLF line ends, split
// anywhere. Sans I/O; one scanner a stream.
#pragma once

#include <cstddef>
#include <string_view>

namespace wg::http {

class SseScanner {
 public:
  // Looks at the next bytes of the stream and returns the offset just behind the first event that ends in them
  // (its blank line included), or npos if none does. Call again with the rest for the next one; after npos with the
  // bytes that follow. Every returned offset is at least 1.
  //
  // A blank line that no field precedes is an event of its own, one or two bytes long: stray blank lines never pile up.
  // An event whose blank line is a CR at the very end of `bytes` ends there, for streams of CR only; if a LF follows
  // after all, it stands in front of the next event's bytes and ends nothing.
  std::size_t next_end(std::string_view bytes);
  // True between events: all bytes so far belong to complete events (a LF as above does).
  bool between_events() const { return between_; }

  static constexpr std::size_t npos = ~std::size_t{0};

 private:
  enum class At : unsigned char { line_start, in_line, after_cr, after_blank_cr };
  At at_ = At::line_start;
  bool between_ = true;
};

}  // namespace wg::http
