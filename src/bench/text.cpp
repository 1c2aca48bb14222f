#include "bench/text.h"

#include "core/rng.h"

namespace wg::bench {
namespace {

constexpr std::string_view consonants = "bdfgklmnprstvwz", vowels = "aeiou";

// What stands between the quotes of the string value of `key`, or empty.
std::string_view string_value(std::string_view json, std::string_view quoted_key) {
  for (auto at = json.find(quoted_key); at != json.npos; at = json.find(quoted_key, at + 1)) {
    std::size_t from = at + quoted_key.size();
    while (from < json.size() && json[from] == ' ') ++from;
    if (from >= json.size() || json[from] != ':') continue;
    ++from;
    while (from < json.size() && json[from] == ' ') ++from;
    if (from >= json.size() || json[from] != '"') continue;
    std::size_t end = ++from;
    while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
    if (end < json.size()) return json.substr(from, end - from);
  }
  return {};
}

}  // namespace

std::string made_up_text(std::uint64_t seed, std::size_t bytes) {
  Rng rng(seed);
  std::string text;
  text.reserve(bytes + 8);
  while (text.size() < bytes) {
    std::uint64_t dice = rng.next();
    for (std::size_t syllables = 1 + dice % 3; syllables > 0; --syllables) {
      dice >>= 8;
      text += consonants[dice % consonants.size()];
      dice >>= 8;
      text += vowels[dice % vowels.size()];
    }
    text += ' ';
  }
  text.resize(bytes);
  return text;
}

std::string_view escaped_text_of(std::string_view event, dialect::Api api) {
  if (api == dialect::Api::messages)
    return event.find("text_delta") == event.npos ? std::string_view() : string_value(event, "\"text\"");
  return string_value(event, "\"content\"");
}

void add_tool_piece(ToolCall& call, std::string_view event, dialect::Api api) {
  const bool messages = api == dialect::Api::messages;
  const auto at = event.find(messages ? "\"tool_use\"" : "\"tool_calls\":[");
  if (at != event.npos) {
    const std::string_view rest = event.substr(at);
    const auto id = string_value(rest, "\"id\""), name = string_value(rest, "\"name\"");
    if (!id.empty()) call.id = id;
    if (!name.empty()) call.name = name;
    if (!messages) call.arguments.append(string_value(rest, "\"arguments\""));
  }
  if (messages) call.arguments.append(string_value(event, "\"partial_json\""));
}

}  // namespace wg::bench
