// Claude Code's billing line, the first block of its system prompt: it names the conversation, so two conversations
// with equal tools and system text share no cache while it is there. Finds the bytes to remove. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "dialect/body.h"

namespace wg::dialect {

// Bytes of decoded text that a billing line takes at its start, with its line end; 0 if it does not begin with one.
std::size_t billing_line_length(std::string_view text);
// The same in the raw bytes of a JSON string.
std::size_t raw_billing_line_length(std::string_view raw);

struct Element {
  Span span;
  bool is_billing = false;
};

// What to remove from an array so that the marked elements are gone, each run of them with one comma.
void spans_without(const std::vector<Element>& elements, std::vector<Span>& out);

}  // namespace wg::dialect
