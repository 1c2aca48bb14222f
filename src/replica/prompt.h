// From an Ask to what the engine gets: the tokens of its messages, and the hash by which a client knows its prompt.
// Pure.
#pragma once

#include "core/ids.h"
#include "replica/ask.h"
#include "replica/tokenizer.h"

namespace wg::replica {

TokenList tokens_of(const Ask& ask);  // with the opening of the answer
SessionKey digest_of(const Ask& ask);

}  // namespace wg::replica
