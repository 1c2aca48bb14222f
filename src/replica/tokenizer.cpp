#include "replica/tokenizer.h"

#include <algorithm>

#include "core/hash.h"

namespace wg::replica {
namespace {

// A text token is its bytes, the first one lowest. No UTF-8 text contains the byte FF, so these are free.
constexpr sim::TokenId special = 0xFF000000;
constexpr sim::TokenId begin = special | 1, end = special | 2;

sim::TokenId token_of_role(std::string_view role) {
  return special | 0x10000 | static_cast<sim::TokenId>(xxh3(role) & 0xFFFF);
}

}  // namespace

sim::TokenId end_token() { return end; }

void append_text(TokenList& tokens, std::string_view text) {
  tokens.reserve(tokens.size() + text.size() / token_bytes + 1);
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), token_bytes))) {
    sim::TokenId token = 0;
    for (std::size_t i = 0; i < std::min(text.size(), token_bytes); ++i)
      token |= static_cast<sim::TokenId>(static_cast<unsigned char>(text[i])) << (8 * i);
    tokens.push_back(token);
  }
}

void append_message(TokenList& tokens, std::string_view role, std::string_view text) {
  tokens.push_back(begin);
  tokens.push_back(token_of_role(role));
  append_text(tokens, text);
  tokens.push_back(end);
}

void append_answer_opening(TokenList& tokens) {
  tokens.push_back(begin);
  tokens.push_back(token_of_role("assistant"));
}

void append_bytes(std::string& text, sim::TokenId token) {
  if ((token & special) == special) return;
  for (; token != 0; token >>= 8) text.push_back(static_cast<char>(token & 0xFF));
}

}  // namespace wg::replica
