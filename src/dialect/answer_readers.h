// The parsers behind AnswerReader, one for each family of answers. Each takes the JSON of an event or of a whole body,
// adds to the facts and says what it was. Pure; any thread.
#pragma once

#include <string_view>

#include "dialect/answer.h"

namespace wg::dialect {

// Of a whole body the kinds are content, error and abort.
Event read_openai_event(std::string_view json, AnswerFacts& facts);
Event read_openai_body(std::string_view json, AnswerFacts& facts);

// `name` is the event's, or the JSON's "type" if there is none.
Event read_messages_event(std::string_view name, std::string_view json, AnswerFacts& facts, MessagesUsage& usage);
Event read_messages_body(std::string_view json, AnswerFacts& facts, MessagesUsage& usage);

Event read_responses_event(std::string_view name, std::string_view json, AnswerFacts& facts);
Event read_responses_body(std::string_view json, AnswerFacts& facts);

Event error_in(std::string_view json);

}  // namespace wg::dialect
