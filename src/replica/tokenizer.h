// A made-up tokenizer that behaves like a real one where caches are concerned: a message is two role tokens, then four
// bytes of text a token, then an end token. Pure.
// Invariants: a longer history with the same beginning has the same first tokens; an answer that is sent back as the
// assistant's message has exactly the tokens that were generated; every text token can be turned back into its bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/token_chain.h"

namespace wg::replica {

using TokenList = std::vector<sim::TokenId>;

inline constexpr std::size_t token_bytes = 4;

// Ends a message, and an answer that stopped by itself; no text comes from it.
sim::TokenId end_token();

void append_text(TokenList& tokens, std::string_view text);
void append_message(TokenList& tokens, std::string_view role, std::string_view text);
void append_answer_opening(TokenList& tokens);  // what stands before an answer

// The bytes of a token; none for those that are no text.
void append_bytes(std::string& text, sim::TokenId token);

}  // namespace wg::replica
