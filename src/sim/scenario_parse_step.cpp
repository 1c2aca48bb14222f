// Lines that begin with at or with.
#include "sim/scenario_parser.h"

namespace wg::sim {

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
    if (words_.size() < 4)
      throw Wrong{what.column, "what does " + step.sessions.front() + " do? turn, title, rekey or compact"};
    const Word& verb = words_[3];
    if (verb.text == "rekey" || verb.text == "compact") {
      step.verb = verb.text == "rekey" ? Verb::rekey : Verb::compact;
      if (words_.size() > 4) throw Wrong{words_[4].column, "nothing follows " + std::string(verb.text)};
    } else if (verb.text == "turn" || verb.text == "title") {
      step.verb = verb.text == "turn" ? Verb::turn : Verb::title;
      turn(step, 4, expect);
      rest(ExpectedOf::turn);
    } else {
      throw Wrong{verb.column, "'" + std::string(verb.text) + "' is none of turn, title, rekey, compact"};
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
           {"ends", [&](const Pair& p) { step.ends_with_tool = one_of(p, "turn, tool") == "tool"; }},
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
      if (!kind || is_of_process(*kind) || is_of_http(*kind))
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
  if (!engine_named(text))
    throw Wrong{pair.value.column, "'" + std::string(text) + "' is no engine: e0, e1, ... or SESSION.home"};
  step.place.engine = text;
}

std::optional<std::uint32_t> Parser::engine_named(std::string_view text) const {
  for (std::uint32_t i = 0; i < scenario_.fleet.engines; ++i)
    if (text == "e" + std::to_string(i)) return i;
  return std::nullopt;
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
              if (!kind || is_of_http(*kind))
                throw Wrong{p.value.column, "'" + std::string(p.value.text) + "' is none of " + fault_names(false)};
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

}  // namespace wg::sim
