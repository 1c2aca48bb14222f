#include "replica/answers.h"

#include "dialect/json_string.h"

namespace wg::replica {

std::unique_ptr<Answer> answer_in(dialect::Api api, AnswerFacts facts) {
  switch (api) {
    case dialect::Api::completions:
      return completions_answer(std::move(facts));
    case dialect::Api::messages:
      return messages_answer(std::move(facts));
    case dialect::Api::responses:
      return responses_answer(std::move(facts));
    default:
      return chat_answer(std::move(facts));
  }
}

std::string_view openai_name(Ending ending) {
  switch (ending) {
    case Ending::stop:
      return "stop";
    case Ending::length:
      return "length";
    case Ending::tool_calls:
      return "tool_calls";
    case Ending::abort:
      return "abort";
  }
  return "stop";
}

std::string quoted(std::string_view text) {
  std::string out;
  dialect::append_quoted(out, text);
  return out;
}

}  // namespace wg::replica
