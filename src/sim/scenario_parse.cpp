#include "sim/scenario_parse.h"

#include "sim/preset.h"
#include "sim/scenario_parser.h"

namespace wg::sim {

std::uint32_t small(const Pair& pair, std::int64_t least, std::int64_t most) {
  return static_cast<std::uint32_t>(number_of(pair, least, most));
}

policy::PolicyName policy_of(const Word& word) {
  const auto policy = policy::policy_named(word.text);
  if (!policy)
    throw Wrong{word.column, "'" + std::string(word.text) + "' is none of " + std::string(policy::policy_names)};
  return *policy;
}

std::vector<std::string> names_of(const Word& word) {
  const auto wrong = [&](const char* what) { return Wrong{word.column, "'" + std::string(word.text) + "' " + what}; };
  const auto split = [&](std::string_view name) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    return std::pair(name.substr(0, digits), name.substr(digits));
  };
  const std::size_t dots = word.text.find("..");
  if (word.text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") != word.text.npos)
    throw wrong("is no session's name: small letters, digits and _, or a range such as s1..s8");
  if (dots == word.text.npos) return {std::string(word.text)};
  const auto [stem, first] = split(word.text.substr(0, dots));
  const auto [end_stem, last] = split(word.text.substr(dots + 2));
  if (stem != end_stem || first.empty() || last.empty() || first.size() > 3 || last.size() > 3)
    throw wrong("is no range: write it as s1..s8");
  std::vector<std::string> names;
  for (int n = std::stoi(std::string(first)); n <= std::stoi(std::string(last)); ++n)
    names.push_back(std::string(stem) + std::to_string(n));
  if (names.empty()) throw wrong("is an empty range");
  return names;
}

static std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> list;
  for (;;) {
    const std::size_t end = std::min(text.find(','), text.size());
    list.emplace_back(text.substr(0, end));
    if (end == text.size()) return list;
    text.remove_prefix(end + 1);
  }
}

void Parser::fleet() {
  if (std::exchange(has_fleet_, true)) throw Wrong{words_[0].column, "there is one fleet only"};
  ScenarioFleet& fleet = scenario_.fleet;
  set_all(words_, 1, words_.size(),
          {{"preset",
            [&](const Pair& p) {
              const auto preset = preset_named(p.value.text);
              if (!preset) throw Wrong{p.value.column, preset.error().what};
              fleet.preset = p.value.text;
            }},
           {"engines", [&](const Pair& p) { fleet.engines = small(p, 1, 16); }},
           {"ranks", [&](const Pair& p) { fleet.ranks = small(p, 1, 16); }},
           {"policy", [&](const Pair& p) { fleet.policy = policy_of(p.value); }},
           {"spill", [&](const Pair& p) { fleet.spill = small(p, 0, 10'000); }},
           {"rehome", [&](const Pair& p) { fleet.rehome = yes_or_no(p); }},
           {"aliases", [&](const Pair& p) { fleet.aliases = list_of(p.value.text); }},
           {"kv_tokens", [&](const Pair& p) { fleet.kv_tokens = number_of(p, 64, 100'000'000); }},
           {"max_num_seqs", [&](const Pair& p) { fleet.max_num_seqs = small(p, 1, 10'000); }},
           {"balancer", [&](const Pair& p) { fleet.balancer = one_of(p, balancer_names); }},
           {"speed", [&](const Pair& p) { fleet.speed = static_cast<double>(number_of(p, 1, 1'000)); }}});
}

void Parser::session() {
  if (words_.size() < 2) throw Wrong{words_[0].column, "a session needs a name"};
  ScenarioSession made;
  set_all(words_, 2, words_.size(),
          {{"dialect", [&](const Pair& p) { made.dialect = one_of(p, "chat, completions, messages, responses"); }},
           {"key", [&](const Pair& p) { made.key = one_of(p, session_keys); }},
           {"parent",
            [&](const Pair& p) {
              need_session(p.value.text, p.value.column);
              made.parent = p.value.text;
            }},
           {"model", [&](const Pair& p) { made.model = p.value.text; }},
           {"head", [&](const Pair& p) { made.head = number_of(p, 0, most_tokens); }},
           {"first", [&](const Pair& p) { made.first = number_of(p, 1, most_tokens); }},
           {"engine",
            [&](const Pair& p) {
              made.engine = engine_named(p.value.text);
              if (!made.engine)
                throw Wrong{p.value.column, "'" + std::string(p.value.text) + "' is no engine: e0, e1, ..."};
            }},
           {"stream", [&](const Pair& p) { made.streamed = yes_or_no(p); }}});
  for (const std::string& name : names_of(words_[1])) {
    for (const ScenarioSession& other : scenario_.sessions)
      if (other.name == name) throw Wrong{words_[1].column, "there is a session '" + name + "' already"};
    made.name = name;
    scenario_.sessions.push_back(made);
  }
}

void Parser::expects(std::vector<Expectation>& into, std::size_t from, ExpectedOf of) {
  for (std::size_t i = from; i < words_.size(); ++i) {
    const Pair pair = pair_of(words_[i]);
    const std::string problem = check_expectation(pair.key.text, pair.compare, pair.value.text, of);
    if (!problem.empty()) throw Wrong{pair.value.column, problem};
    if (const std::size_t dot = pair.value.text.find('.'); pair.key.text == "replica" && dot != pair.value.text.npos)
      need_session(pair.value.text.substr(0, dot), pair.value.column);
    into.push_back({std::string(pair.key.text), std::string(pair.value.text), pair.compare});
  }
}

void Parser::end() {
  ended_ = true;
  scenario_.end_line = line_;
  if (words_.size() < 3 || words_[1].text != "expect") throw Wrong{words_[0].column, "write it as: end expect ..."};
  expects(scenario_.at_end, 2, ExpectedOf::fleet);
}

Result<Scenario> parse_scenario(std::string_view text, std::string_view file) {
  Parser parser(file);
  try {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      parser.line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parser.take();
  } catch (const Wrong& wrong) {
    return fail(Fault::client, std::string(file) + ":" + std::to_string(parser.line_number()) + ":" +
                                   std::to_string(wrong.column) + ": " + wrong.what);
  }
}

}  // namespace wg::sim
