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
                 double time_scale)
    : loop_(loop),
      target_(target),
      plan_(std::move(plan)),
      time_scale_(time_scale),
      key_(key_of(plan_.text)),
      conversation_(target, head) {}

net::Task<bool> Session::run(Caller& caller, Nap& nap, Measured& measured) {
  const TimePoint session_began = loop_.now();
  for (std::size_t number = 0; number < plan_.turns.size(); ++number) {
    const sim::TurnPlan& turn = plan_.turns[number];
    const std::string text = made_up_text(mix(plan_.text, number), bytes_of(target_, turn.added));
    conversation_.add_user(text);
    const std::string body = conversation_.body(turn.output);
    const TimePoint began = loop_.now();
    const Answer answer = co_await caller.ask(body, key_);
    const bool good = note(answer, began, measured);
    if (!good) co_return false;
    conversation_.add_answer(answer.text);
    const bool is_last = number + 1 == plan_.turns.size();
    if (is_last) measured.sessions.push_back({session_began, loop_.now()});
    const Duration pause = from_seconds(to_seconds(turn.pause) / time_scale_);
    co_await nap.sleep(pause);
  }
  co_return true;
}

bool Session::note(const Answer& answer, TimePoint began, Measured& measured) {
  if (answer.cancelled) return false;
  if (!answer.failure.empty()) {
    ++measured.failures;
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
  turn.waited = answer.waited;
  if (!place_.empty() && !answer.place.empty()) turn.stayed = place_ == answer.place;
  place_ = answer.place;
  ++measured.turns_by_place[place_];
  measured.turns.push_back(turn);
  return true;
}

}  // namespace wg::bench
