// Tells title, summary and quota calls, which agents make beside the conversation, from its turns. Pure; any thread.
#pragma once

#include <string_view>

#include "dialect/body.h"

namespace wg::dialect {

struct BackgroundSigns {
  bool has_answer = false;         // the model has spoken before
  bool wants_json_schema = false;  // of the output
  std::string_view opening;        // first bytes of system and user text
};

// Conservative: a call with tools, with history or with much text is a turn, whatever it says.
bool is_background_call(const BodyFacts& facts, const BackgroundSigns& signs);

}  // namespace wg::dialect
