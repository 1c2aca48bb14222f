#include "bench/session.h"

#include "bench/text.h"
#include "core/hash.h"

namespace wg::bench {
namespace {

std::string key_of(std::uint64_t text) {
  char key[32];
  std::snprintf(key, sizeof key, "agent-%016llx", static_cast<unsigned long long>(text));
  return key;
}

}  // namespace

Session::Session(net::Loop& loop, const Target& target, sim::SessionPlan plan, const std::string& head,
                 std::uint64_t text, double time_scale)
    : loop_(loop),
      target_(target),
      plan_(std::move(plan)),
      text_(mix(plan_.text, text)),
      time_scale_(time_scale),
      key_(key_of(text_)),
      conversation_(target, head) {}

net::Task<bool> Session::run(Caller& caller, Nap& nap, Measured& measured) {
  const TimePoint session_began = loop_.now();
  for (std::size_t number = 0; number < plan_.turns.size(); ++number) {
    const sim::TurnPlan& turn = plan_.turns[number];
    const std::string text = made_up_text(mix(text_, number), bytes_of(target_, turn.added) + rewind(turn));
    conversation_.add_user(text);
    const std::string body = conversation_.body(turn.output);
    const TimePoint began = loop_.now();
    const std::string ending = ending_headers(turn);
    const Answer answer = co_await caller.ask(body, key_, ending);
    const bool good = note(answer, began, measured);
    if (!good) co_return false;
    conversation_.add_answer(answer.text, answer.tool);
    const bool is_last = number + 1 == plan_.turns.size();
    if (is_last) measured.sessions.push_back({session_began, loop_.now()});
    const Duration pause = from_seconds(to_seconds(turn.pause) / time_scale_);
    co_await nap.sleep(pause);
  }
  co_return true;
}

// A history that the plan edits is cut behind a whole answer; bytes that are missing then come with the new text.
std::size_t Session::rewind(const sim::TurnPlan& turn) {
  if (turn.keep == sim::all_of_it) return 0;
  const std::size_t wanted = std::min(bytes_of(target_, turn.keep), conversation_.text_bytes());
  const std::size_t kept = conversation_.rewind(wanted);
  return wanted > kept ? wanted - kept : 0;
}

// What real models decide for themselves. The last answer of a session goes to a person.
std::string Session::ending_headers(const sim::TurnPlan& turn) const {
  if (!target_.simulated) return {};
  const std::string length = "x-output-tokens: " + std::to_string(turn.output) + "\r\n";
  return length + (turn.then == sim::WaitsFor::tool ? "x-finish: tool_calls\r\n" : "x-finish: stop\r\n");
}

bool Session::note(const Answer& answer, TimePoint began, Measured& measured) {
  if (answer.cancelled) return false;
  if (!answer.failure.empty()) {
    ++measured.failures;
    ++measured.failures_by_kind[answer.kind];
    measured.last_failure = answer.failure;
    return false;
  }
  Turn turn;
  turn.began = began;
  turn.first_content = answer.first_content.value_or(answer.ended);
  turn.ended = answer.ended;
  turn.prompt = answer.usage.prompt;
  turn.cached = answer.usage.cached;
  turn.output = answer.usage.output;
  turn.measured = answer.usage.measured;
  turn.cached_measured = answer.usage.cached_measured;
  turn.waited = answer.waited;
  // POOL/ENGINE/any: the gateway left the choice to the engine, and the engine does not say what it chose.
  const bool known = !answer.place.empty() && !answer.place.ends_with("/any");
  if (!place_.empty() && known) turn.stayed = place_ == answer.place;
  place_ = known ? answer.place : std::string();
  ++measured.turns_by_place[answer.place];
  measured.turns.push_back(turn);
  return true;
}

}  // namespace wg::bench
