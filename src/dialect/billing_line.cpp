#include "dialect/billing_line.h"

#include "dialect/json_string.h"

namespace wg::dialect {
namespace {

constexpr std::string_view literal = "x-anthropic-billing-header:";

}  // namespace

std::size_t billing_line_length(std::string_view text) {
  if (!text.starts_with(literal)) return 0;
  const std::size_t line_end = text.find('\n');
  return line_end == std::string_view::npos ? text.size() : line_end + 1;
}

std::size_t raw_billing_line_length(std::string_view raw) {
  const bool starts = raw.starts_with(literal) || decoded(raw.substr(0, 6 * literal.size())).starts_with(literal);
  if (!starts) return 0;
  for (std::size_t at = raw.find('\\'); at != std::string_view::npos && at + 1 < raw.size();
       at = raw.find('\\', at + 2)) {
    if (raw[at + 1] == 'n') return at + 2;
    const std::string_view code = raw.substr(at + 1, 5);
    if (code == "u000a" || code == "u000A") return at + 6;
  }
  return raw.size();
}

void spans_without(const std::vector<Element>& elements, std::vector<Span>& out) {
  const auto end_of = [&](std::size_t i) { return elements[i].span.offset + elements[i].span.length; };
  for (std::size_t first = 0; first < elements.size(); ++first) {
    if (!elements[first].is_billing) continue;
    std::size_t last = first;
    while (last + 1 < elements.size() && elements[last + 1].is_billing) ++last;
    std::size_t begin = elements[first].span.offset, end = end_of(last);
    if (last + 1 < elements.size()) {
      end = elements[last + 1].span.offset;  // with the comma behind
    } else if (first > 0) {
      begin = end_of(first - 1);  // the last ones take the comma before them
    }
    out.push_back({begin, end - begin});
    first = last;
  }
}

}  // namespace wg::dialect
