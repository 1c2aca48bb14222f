#include "http/sse.h"

#include <algorithm>
#include <cstring>

namespace wg::http {

namespace {

// The first CR or LF at or behind `from`, or the end. Looks in windows, so that a stream with only one kind of line end
// is not searched to its end for the other kind at each line.
std::size_t find_line_end(std::string_view bytes, std::size_t from) {
  constexpr std::size_t window = 512;
  while (from < bytes.size()) {
    std::size_t size = std::min(window, bytes.size() - from);
    const char* begin = bytes.data() + from;
    const void* lf = std::memchr(begin, '\n', size);
    const std::size_t before_lf = lf ? static_cast<std::size_t>(static_cast<const char*>(lf) - begin) : size;
    if (const void* cr = std::memchr(begin, '\r', before_lf))
      return from + static_cast<std::size_t>(static_cast<const char*>(cr) - begin);
    if (lf) return from + before_lf;
    from += size;
  }
  return from;
}

}  // namespace

std::size_t SseScanner::next_end(std::string_view bytes) {
  std::size_t i = 0;
  while (i < bytes.size()) {
    switch (at_) {
      case At::after_cr:
      case At::after_blank_cr:
        if (bytes[i] == '\n') ++i;
        at_ = At::line_start;
        break;
      case At::in_line:
        i = find_line_end(bytes, i);
        if (i == bytes.size()) return npos;
        at_ = bytes[i++] == '\r' ? At::after_cr : At::line_start;
        break;
      case At::line_start:
        if (bytes[i] != '\n' && bytes[i] != '\r') {
          at_ = At::in_line;
          between_ = false;
          break;
        }
        between_ = true;
        if (bytes[i++] == '\n') return i;
        if (i == bytes.size())
          at_ = At::after_blank_cr;
        else if (bytes[i] == '\n')
          ++i;
        return i;
    }
  }
  return npos;
}

}  // namespace wg::http
