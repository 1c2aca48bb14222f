// What a simulated session has said and heard so far, as the tokens that its next request resends.
// Invariant: unless it is rewound, a prompt begins with the one before and its answer.
// Values only; owner: its session.
#pragma once

#include <span>
#include <vector>

#include "sim/token_chain.h"

namespace wg::sim {

class Conversation {
 public:
  Conversation() = default;
  // It begins with `head` tokens of the text `head_text`, which other conversations may share.
  Conversation(std::uint32_t block_size, std::uint64_t head_text, std::int64_t head, std::uint64_t text)
      : chain_(block_size), text_(text) {
    chain_.append_made_up(head_text, 0, static_cast<std::uint64_t>(head));
  }

  // Its history is edited: the first `tokens` stay. (What stays of an unfinished block is made up anew: a cache cannot
  // tell the difference.)
  void rewind(std::int64_t tokens) {
    if (tokens >= chain_.size().count) return;
    chain_.truncate(static_cast<std::size_t>(tokens) / chain_.block_size());
    make_up(tokens - chain_.size().count);
  }
  void say(std::int64_t tokens) {
    make_up(tokens);
    ++turn_;
  }
  // What the engine is to answer to the last turn: differs from turn to turn and from session to session.
  std::vector<TokenId> answer_of(std::int64_t tokens) const {
    std::vector<TokenId> answer(static_cast<std::size_t>(tokens));
    for (std::size_t i = 0; i < answer.size(); ++i) answer[i] = made_up_token(text_ ^ 0xa5a5a5a5ull, (turn_ << 32) | i);
    return answer;
  }
  void hear(std::span<const TokenId> answer) { chain_.append(answer); }

  const TokenChain& prompt() const { return chain_; }

 private:
  void make_up(std::int64_t tokens) {
    chain_.append_made_up(text_, said_, static_cast<std::uint64_t>(tokens));
    said_ += static_cast<std::uint64_t>(tokens);
  }

  TokenChain chain_;
  std::uint64_t text_ = 0, said_ = 0, turn_ = 0;
};

}  // namespace wg::sim
