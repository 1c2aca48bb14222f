#include "sim/scenario_words.h"

#include <charconv>
#include <set>

#include "sim/workload.h"

namespace wg::sim {

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '#') break;
    if (line[at] == ' ' || line[at] == '\t' || line[at] == '\r') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back({line.substr(at, end - at), at + 1});
    at = end;
  }
  return words;
}

Pair pair_of(const Word& word) {
  Pair pair;
  const std::size_t sign = word.text.find_first_of("=!<>");
  pair.key = {word.text.substr(0, sign), word.column};
  if (pair.key.text.empty()) throw Wrong{word.column, "a name is missing before '" + std::string(word.text) + "'"};
  if (sign == word.text.npos) {
    pair.bare = true;
    pair.value = {"yes", word.column};
    return pair;
  }
  std::size_t value = sign + 1;
  if (word.text[sign] != '=') {
    if (word.text.substr(value, 1) != "=") throw Wrong{word.column + sign, "a comparison is one of =, !=, >=, <="};
    ++value;
    pair.compare = word.text[sign] == '!'   ? Compare::unequal
                   : word.text[sign] == '>' ? Compare::at_least
                                            : Compare::at_most;
  }
  pair.value = {word.text.substr(value), word.column + value};
  if (pair.value.text.empty())
    throw Wrong{word.column + value, "a value is missing after '" + std::string(pair.key.text) + "'"};
  return pair;
}

std::int64_t number_of(const Pair& pair, std::int64_t least, std::int64_t most) {
  const std::string_view text = pair.value.text;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    throw Wrong{pair.value.column, "'" + std::string(text) + "' must be a whole number from " + std::to_string(least) +
                                       " to " + std::to_string(most)};
  return number;
}

Duration time_of(const Word& word) {
  const auto time = duration_named(word.text);
  if (!time) throw Wrong{word.column, time.error().what};
  return *time;
}

bool yes_or_no(const Pair& pair) { return one_of(pair, "yes, no") == "yes"; }

std::string one_of(const Pair& pair, std::string_view allowed) {
  for (std::string_view rest = allowed; !rest.empty();) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    if (rest.substr(0, end) == pair.value.text) return std::string(pair.value.text);
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  throw Wrong{pair.value.column, "'" + std::string(pair.value.text) + "' is none of " + std::string(allowed)};
}

void set_all(const std::vector<Word>& words, std::size_t from, std::size_t to, const Setters& setters) {
  std::set<std::string_view> given;
  for (std::size_t i = from; i < to; ++i) {
    const Pair pair = pair_of(words[i]);
    const auto setter = setters.find(pair.key.text);
    if (setter == setters.end()) {
      std::string known;
      for (const auto& [name, set] : setters) known.append(known.empty() ? "" : ", ").append(name);
      throw Wrong{pair.key.column, "there is no '" + std::string(pair.key.text) + "' here; known are " + known};
    }
    if (pair.bare || pair.compare != Compare::equal)
      throw Wrong{pair.key.column, "write it as " + std::string(pair.key.text) + "=VALUE"};
    if (!given.insert(pair.key.text).second)
      throw Wrong{pair.key.column, "'" + std::string(pair.key.text) + "' is given twice"};
    setter->second(pair);
  }
}

}  // namespace wg::sim
