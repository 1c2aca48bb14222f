#include "sim/scenario_parse.h"

#include <algorithm>

#include "sim/preset.h"
#include "sim/scenario_expect.h"
#include "sim/scenario_words.h"

namespace wg::sim {

namespace {

constexpr std::int64_t most_tokens = 1'000'000;

std::uint32_t small(const Pair& pair, std::int64_t least, std::int64_t most) {
  return static_cast<std::uint32_t>(number_of(pair, least, most));
}

policy::PolicyName policy_of(const Word& word) {
  const auto policy = policy::policy_named(word.text);
  if (!policy)
    throw Wrong{word.column, "'" + std::string(word.text) + "' is none of " + std::string(policy::policy_names)};
  return *policy;
}

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> list;
  for (;;) {
    const std::size_t end = std::min(text.find(','), text.size());
    list.emplace_back(text.substr(0, end));
    if (end == text.size()) return list;
    text.remove_prefix(end + 1);
  }
}

// "s3" or "s1..s8".
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
           {"stream", [&](const Pair& p) { made.streamed = yes_or_no(p); }}});
  for (const std::string& name : names_of(words_[1])) {
    for (const ScenarioSession& other : scenario_.sessions)
      if (other.name == name) throw Wrong{words_[1].column, "there is a session '" + name + "' already"};
    made.name = name;
    scenario_.sessions.push_back(made);
  }
}

void Parser::step() {
  Step step;
  step.line = line_;
  if (words_.size() < 3) throw Wrong{words_[0].column, "write it as: at TIME WHAT ..."};
  const bool with = words_[0].text == "with", plus = words_[1].text.starts_with('+');
  if (with && !plus) throw Wrong{words_[1].column, "after 'with' stands a time such as +1s"};
  Word time = words_[1];
  if (plus) time = {time.text.substr(1), time.column + 1};
  step.when = time_of(time);
  step.start = with ? Step::Start::after_begin : plus ? Step::Start::after_end : Step::Start::at;

  const std::size_t expect = expect_at();
  const Word& what = words_[2];
  const auto rest = [&](ExpectedOf of) { expects(step.expects, expect + 1, of); };
  if (what.text == "fault") {
    step.verb = Verb::fault;
    fault(step, 3, words_.size());
  } else if (what.text == "policy") {
    step.verb = Verb::policy;
    policy(step, 3, words_.size());
  } else if (what.text == "until") {
    step.verb = Verb::until;
    std::size_t to = words_.size();
    if (words_.back().text.starts_with("within=")) {
      step.within = time_of(pair_of(words_.back()).value);
      --to;
    }
    if (to == 3) throw Wrong{what.column, "until what?"};
    words_.resize(to);
    expects(step.expects, 3, ExpectedOf::fleet);
  } else if (what.text == "expect") {
    step.verb = Verb::expect;
    expects(step.expects, 3, ExpectedOf::fleet);
  } else {
    step.sessions = names_of(what);
    for (const std::string& name : step.sessions) need_session(name, what.column);
    if (words_.size() < 4) throw Wrong{what.column, "what does " + step.sessions.front() + " do? turn, title or rekey"};
    const Word& verb = words_[3];
    if (verb.text == "rekey") {
      step.verb = Verb::rekey;
      if (words_.size() > 4) throw Wrong{words_[4].column, "nothing follows rekey"};
    } else if (verb.text == "turn" || verb.text == "title") {
      step.verb = verb.text == "turn" ? Verb::turn : Verb::title;
      turn(step, 4, expect);
      rest(ExpectedOf::turn);
    } else {
      throw Wrong{verb.column, "'" + std::string(verb.text) + "' is none of turn, title, rekey"};
    }
  }
  scenario_.steps.push_back(std::move(step));
}

void Parser::turn(Step& step, std::size_t from, std::size_t to) {
  set_all(words_, from, to,
          {{"add", [&](const Pair& p) { step.add = number_of(p, 1, most_tokens); }},
           {"out", [&](const Pair& p) { step.out = number_of(p, 1, 100'000); }},
           {"times", [&](const Pair& p) { step.times = small(p, 1, 1'000); }},
           {"pause", [&](const Pair& p) { step.pause = time_of(p.value); }},
           {"model", [&](const Pair& p) { step.model = p.value.text; }},
           {"fault", [&](const Pair& p) { step.fault = fault_header(p); }},
           {"leave", [&](const Pair& p) {
              constexpr std::string_view tokens = "tokens";
              if (!p.value.text.ends_with(tokens)) {
                step.leave_after = time_of(p.value);
                return;
              }
              Pair number = p;
              number.value.text.remove_suffix(tokens.size());
              step.leave_at_token = small(number, 1, 100'000);
            }}});
}

// KIND[;for=TIME][;after=TOKENS]
FaultOrder Parser::fault_header(const Pair& pair) {
  FaultOrder order;
  std::size_t begin = 0;
  for (bool first = true; begin <= pair.value.text.size(); first = false) {
    const std::size_t end = std::min(pair.value.text.find(';', begin), pair.value.text.size());
    const Word part{pair.value.text.substr(begin, end - begin), pair.value.column + begin};
    begin = end + 1;
    if (first) {
      const auto kind = fault_named(part.text);
      if (!kind || is_of_process(*kind))
        throw Wrong{part.column, "'" + std::string(part.text) + "' is no fault of a request"};
      order.kind = *kind;
      continue;
    }
    set_all({part}, 0, 1,
            {{"for", [&](const Pair& p) { order.lasts = time_of(p.value); }},
             {"after", [&](const Pair& p) { order.after_tokens = small(p, 1, 100'000); }}});
  }
  return order;
}

void Parser::place_of(Step& step, const Pair& pair) {
  std::string_view text = pair.value.text;
  constexpr std::string_view home = ".home";
  if (text.ends_with(home)) {
    text.remove_suffix(home.size());
    need_session(text, pair.value.column);
    step.place.session = text;
    return;
  }
  for (std::uint32_t i = 0; i < scenario_.fleet.engines; ++i)
    if (text == "e" + std::to_string(i)) {
      step.place.engine = text;
      return;
    }
  throw Wrong{pair.value.column, "'" + std::string(text) + "' is no engine: e0, e1, ... or SESSION.home"};
}

void Parser::fault(Step& step, std::size_t from, std::size_t to) {
  FaultOrder order;
  bool placed = false;
  const auto place = [&](const Pair& p) {
    place_of(step, p);
    step.place.with_rank = p.key.text == "replica";
    placed = true;
  };
  set_all(words_, from, to,
          {{"engine", place},
           {"replica", place},
           {"kind",
            [&](const Pair& p) {
              const auto kind = fault_named(p.value.text);
              if (!kind) throw Wrong{p.value.column, "'" + std::string(p.value.text) + "' is none of " + fault_names()};
              order.kind = *kind;
            }},
           {"for", [&](const Pair& p) { order.lasts = time_of(p.value); }},
           {"count", [&](const Pair& p) { order.count = small(p, 1, 1'000'000); }},
           {"after", [&](const Pair& p) { order.after_tokens = small(p, 1, 100'000); }}});
  if (!placed) throw Wrong{words_[2].column, "where? engine=e0 or replica=s1.home"};
  if (order.kind == FaultKind::none) throw Wrong{words_[2].column, "kind= is missing"};
  step.fault = order;
}

void Parser::policy(Step& step, std::size_t from, std::size_t to) {
  if (from >= to) throw Wrong{words_[2].column, "which policy? one of " + std::string(policy::policy_names)};
  step.policy = policy_of(words_[from]);
  set_all(words_, from + 1, to, {{"spill", [&](const Pair& p) { step.spill = small(p, 0, 10'000); }}});
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

}  // namespace

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
