// The words of a line of a scenario file, and what they may be: for scenario_parse.cpp only.
// Invariant: columns count from 1, in bytes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario.h"

namespace wg::sim {

struct Word {
  std::string_view text;
  std::size_t column = 1;
};

// What is wrong, and where. Thrown within the parser only.
struct Wrong {
  std::size_t column;
  std::string what;
};

std::vector<Word> words_of(std::string_view line);  // without the comment

// key OP value, with the column of each.
struct Pair {
  Word key, value;
  Compare compare = Compare::equal;
  bool bare = false;  // a key alone
};
Pair pair_of(const Word& word);

std::int64_t number_of(const Pair& pair, std::int64_t least, std::int64_t most);
Duration time_of(const Word& word);
bool yes_or_no(const Pair& pair);
std::string one_of(const Pair& pair, std::string_view allowed);  // names separated by ", "

// key -> what to do with its value. An unknown key is wrong, with the known ones listed; so is a key given twice.
using Setters = std::map<std::string_view, std::function<void(const Pair&)>>;
void set_all(const std::vector<Word>& words, std::size_t from, std::size_t to, const Setters& setters);

}  // namespace wg::sim
