#include "replica/prompt.h"

namespace wg::replica {

TokenList tokens_of(const Ask& ask) {
  if (ask.is_raw) return ask.raw;
  TokenList tokens;
  for (const Message& message : ask.messages) append_message(tokens, message.role, message.text);
  append_answer_opening(tokens);
  return tokens;
}

SessionKey digest_of(const Ask& ask) {
  SessionKey digest;
  if (ask.is_raw) return extend(digest, "", ask.raw_text);
  for (const Message& message : ask.messages) digest = extend(digest, message.role, message.text);
  return digest;
}

}  // namespace wg::replica
