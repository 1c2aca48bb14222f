// The parser of scenario files, line by line: fleet, sessions and the end in scenario_parse.cpp, steps in
// scenario_parse_step.cpp. Private to these. Invariant: what is wrong is thrown as Wrong, and line_number() says where.
#pragma once

#include <algorithm>
#include <utility>

#include "sim/scenario_expect.h"
#include "sim/scenario_words.h"

namespace wg::sim {

inline constexpr std::int64_t most_tokens = 1'000'000;

std::uint32_t small(const Pair& pair, std::int64_t least, std::int64_t most);
policy::PolicyName policy_of(const Word& word);
std::vector<std::string> names_of(const Word& word);  // "s3" or "s1..s8"

class Parser {
 public:
  explicit Parser(std::string_view file) { scenario_.file = file; }

  void line(std::string_view text) {
    ++line_;
    words_ = words_of(text);
    if (words_.empty()) return;
    const std::string_view first = words_[0].text;
    if (ended_) throw Wrong{words_[0].column, "nothing may follow the line 'end'"};
    if (first == "fleet") return fleet();
    if (first == "session") return session();
    if (first == "at" || first == "with") return step();
    if (first == "end") return end();
    throw Wrong{words_[0].column,
                "a line begins with fleet, session, at, with or end, not with '" + std::string(first) + "'"};
  }

  Scenario take() {
    if (!has_fleet_) throw Wrong{1, "the line 'fleet ...' is missing"};
    if (scenario_.steps.empty()) throw Wrong{1, "nothing happens: no line begins with 'at'"};
    return std::move(scenario_);
  }
  std::uint32_t line_number() const { return line_; }

 private:
  void fleet();
  void session();
  void step();
  void end();
  void turn(Step& step, std::size_t from, std::size_t to);
  void fault(Step& step, std::size_t from, std::size_t to);
  void policy(Step& step, std::size_t from, std::size_t to);
  void place_of(Step& step, const Pair& pair);
  std::optional<std::uint32_t> engine_named(std::string_view text) const;
  FaultOrder fault_header(const Pair& pair);
  void expects(std::vector<Expectation>& into, std::size_t from, ExpectedOf of);
  std::size_t expect_at() const {
    const auto found = std::find_if(words_.begin(), words_.end(), [](const Word& w) { return w.text == "expect"; });
    return static_cast<std::size_t>(found - words_.begin());
  }
  void need_session(std::string_view name, std::size_t column) const {
    if (std::none_of(scenario_.sessions.begin(), scenario_.sessions.end(),
                     [&](const ScenarioSession& session) { return session.name == name; }))
      throw Wrong{column, "there is no session '" + std::string(name) + "'"};
  }

  Scenario scenario_;
  std::vector<Word> words_;
  std::uint32_t line_ = 0;
  bool has_fleet_ = false, ended_ = false;
};

}  // namespace wg::sim
