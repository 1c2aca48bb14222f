// What an engine says went wrong: finds status and message in the shapes of OpenAI, Anthropic, Responses, FastAPI and
// the engines' own variants. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace wg::dialect {

struct EngineError {
  bool found = false;   // an error object, or a text in its place; {"detail":...} is only a message
  int status = 500;     // 400..599, by number or by the type's name
  std::string message;  // empty if there is none
};

EngineError read_engine_error(std::string_view json);

}  // namespace wg::dialect
