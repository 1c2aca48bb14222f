#include "dialect/background.h"

#include <algorithm>
#include <string>

#include "core/header.h"

namespace wg::dialect {
namespace {

// Claude Code's title call has 4 kB of body, opencode's 2.5 kB; the smallest turn of an agent 5 kB with its tools.
constexpr std::int64_t most_text_bytes = 8 * 1024;
// Claude Code asks for one token to see whether its quota lasts.
constexpr std::int64_t tiny_answer = 1;

constexpr std::string_view phrases[] = {
    "generate a title",
    "title generator",
    "title for this conversation",
    "conversation title",
    "thread title",
    "generate a concise",
    "summarize this conversation",
    "summarize the conversation",
    "summary of this conversation",
};

}  // namespace

bool is_background_call(const BodyFacts& facts, const BackgroundSigns& signs) {
  if (facts.has_tools || signs.has_answer || facts.text_bytes == 0 || facts.text_bytes > most_text_bytes) return false;
  if (signs.wants_json_schema || facts.max_tokens == tiny_answer) return true;
  // Sets one bit of every byte: letters become small, and what else changes is in no phrase.
  std::string text(signs.opening);
  for (char& c : text) c = static_cast<char>(c | 0x20);
  return std::any_of(std::begin(phrases), std::end(phrases),
                     [&](std::string_view phrase) { return text.find(phrase) != std::string::npos; });
}

}  // namespace wg::dialect
