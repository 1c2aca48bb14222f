#include "replica/plan.h"

#include <algorithm>
#include <limits>

#include "core/hash.h"
#include "core/rng.h"

namespace wg::replica {
namespace {

// A word of four bytes is one token. The first has no space before it and the last none behind: clients that trim what
// they send back still send the same tokens.
std::string made_up_text(std::size_t words, Rng& rng) {
  static constexpr std::string_view consonants = "bdfgklmnprstvz", vowels = "aeiou";
  const auto one_of = [&](std::string_view letters) {
    return letters[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(letters.size()) - 1))];
  };
  std::string text;
  text.reserve(words * token_bytes);
  for (std::size_t i = 0; i < words; ++i) {
    text += i == 0 ? static_cast<char>(one_of(consonants) - 'a' + 'A') : ' ';
    text += i == 0 ? one_of(vowels) : one_of(consonants);
    text += i == 0 ? one_of(consonants) : one_of(vowels);
    text += i == 0 ? one_of(vowels) : one_of(consonants);
  }
  return text;
}

std::int64_t length_of(const Ask& ask, const Wishes& wishes, const sim::TokenRange& lengths, Rng& rng) {
  const std::int64_t drawn = rng.between(lengths.low, lengths.high);
  if (wishes.tokens) return *wishes.tokens;
  if (ask.max_tokens && (ask.ignore_eos || *ask.max_tokens <= lengths.high)) return *ask.max_tokens + 1;  // is cut
  return drawn;
}

void plan_tool_call(Plan& plan, const Ask& ask, std::size_t tokens, Rng& rng) {
  static constexpr std::string_view before = "{\"text\":\"", after = "\"}";
  plan.tool = ask.tool.empty() ? "made_up_tool" : ask.tool;
  std::string text = std::string(tool_call_begin) + plan.tool + std::string(tool_call_middle);
  plan.arguments_begin = text.size();
  text += before;
  const std::size_t fixed = text.size() + after.size() + tool_call_end.size();
  const std::size_t wanted = std::max((tokens - 1) * token_bytes, fixed + 1);
  std::string filler = made_up_text((wanted - fixed) / token_bytes + 1, rng);
  filler.resize(wanted - fixed);
  if (filler.ends_with(' ')) filler.back() = '.';
  text += filler;
  text += after;
  plan.arguments_end = text.size();
  text += tool_call_end;
  append_text(plan.tokens, text);
  plan.tokens.push_back(end_token());
}

}  // namespace

Plan plan_answer(const Ask& ask, const Wishes& wishes, const sim::TokenRange& lengths, const SessionKey& prompt,
                 std::uint64_t seed) {
  Rng rng(mix(mix(seed, prompt.high), prompt.low));
  const std::int64_t most = ask.max_tokens.value_or(std::numeric_limits<std::int64_t>::max());
  const std::int64_t wanted = std::max<std::int64_t>(length_of(ask, wishes, lengths, rng), 1);
  const auto tokens = static_cast<std::size_t>(std::min<std::int64_t>({wanted, most, 10'000'000}));
  Plan plan;
  plan.ending = wishes.ending.value_or(wanted > most ? Ending::length : Ending::stop);
  if (plan.ending == Ending::tool_calls && !ask.is_raw) {
    plan_tool_call(plan, ask, tokens, rng);
    return plan;
  }
  const bool says_end = plan.ending != Ending::length;  // the end token is generated, and counts
  append_text(plan.tokens, made_up_text(says_end ? tokens - 1 : tokens, rng));
  if (says_end) plan.tokens.push_back(end_token());
  return plan;
}

}  // namespace wg::replica
