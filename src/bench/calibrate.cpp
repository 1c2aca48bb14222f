#include "bench/calibrate.h"

#include <array>

#include "bench/conversation.h"
#include "bench/text.h"
#include "core/hash.h"

namespace wg::bench {
namespace {
constexpr std::array<std::size_t, 2> prompt_bytes{400, 3'200};  // short enough for any model
constexpr std::int64_t answer_tokens = 4;

Calibration assumed(std::string why) {
  Calibration calibration;
  calibration.why = std::move(why);
  return calibration;
}
}  // namespace

Calibration calibration_of(std::size_t short_bytes, std::int64_t short_tokens, std::size_t long_bytes,
                           std::int64_t long_tokens) {
  Calibration calibration;
  const auto bytes = static_cast<double>(long_bytes) - static_cast<double>(short_bytes);
  const auto tokens = static_cast<double>(long_tokens - short_tokens);
  const double ratio = tokens > 0 ? bytes / tokens : 0;
  if (ratio < 0.5 || ratio > 50) return assumed("what it reports of prompts does not grow with them");
  calibration.bytes_per_token = ratio;
  calibration.measured = true;
  return calibration;
}

net::Task<Calibration> calibrate(Caller& caller, const Target& target, std::uint64_t text) {
  std::array<std::int64_t, 2> tokens{};
  bool simulated = false;
  for (std::size_t i = 0; i < prompt_bytes.size(); ++i) {
    Conversation conversation(target, "You are a tool.");
    const std::string prompt = made_up_text(mix(text, i), prompt_bytes[i]);
    conversation.add_user(prompt);
    const std::string body = conversation.body(answer_tokens), key = "calibration-" + std::to_string(mix(text, i));
    const Answer answer = co_await caller.ask(body, key);
    if (!answer.failure.empty()) co_return assumed("it could not be asked: " + answer.failure);
    if (!answer.usage.measured) co_return assumed("it reports no usage");
    tokens[i] = answer.usage.prompt.count;
    simulated = answer.simulated;
  }
  Calibration calibration = calibration_of(prompt_bytes[0], tokens[0], prompt_bytes[1], tokens[1]);
  calibration.simulated = simulated;
  co_return calibration;
}

}  // namespace wg::bench
