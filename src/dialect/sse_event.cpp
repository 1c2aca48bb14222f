#include "dialect/sse_event.h"

namespace wg::dialect {
namespace {

// The next line, taken off the front with its end.
std::string_view take_line(std::string_view& rest) {
  std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  if (const std::size_t cr = line.find('\r'); cr != std::string_view::npos) {
    line = line.substr(0, cr);
    end = cr + 1 == end ? end : cr;
  }
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

}  // namespace

SseEvent read_sse_event(std::string_view event, std::string& joined) {
  SseEvent fields;
  while (!event.empty()) {
    const std::string_view line = take_line(event);
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "event") fields.name = value;
    if (name != "data") continue;
    if (fields.has_data) {
      if (joined.empty()) joined = fields.data;
      joined.append("\n").append(value);
    } else {
      fields.data = value;
      fields.has_data = true;
    }
  }
  if (!joined.empty()) fields.data = joined;
  return fields;
}

}  // namespace wg::dialect
