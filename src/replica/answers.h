// How an answer looks on the wire, in each dialect, byte-shaped as vLLM's. Each writes a stream's events one after the
// other, or the whole body. Pure: no clock, no engine.
// Order of calls for a stream: open, first, (text | tool, arguments...)*, end; fail may replace all that is to come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/units.h"
#include "replica/ask.h"
#include "replica/plan.h"
#include "replica/refusal.h"

namespace wg::replica {

struct AnswerFacts {
  std::string id;            // with the dialect's prefix
  std::string part_id;       // of what is inside: an output item, a tool call
  std::int64_t created = 0;  // seconds since 1970
  std::string model, fingerprint;
  bool details = true;  // cached tokens are told (vLLM's --enable-prompt-tokens-details)
  bool include_usage = false;
  std::string tool;  // of a tool call
  std::int64_t max_tokens = 0;
  bool has_tools = false;
  std::string instructions, previous_response_id;
};

struct Usage {
  std::int64_t prompt = 0, cached = 0, created_cache = 0, completion = 0;
};

// The end of a stream; the last tokens may come with it.
struct End {
  Ending ending = Ending::stop;
  Usage usage;
};

class Answer {
 public:
  virtual ~Answer() = default;
  virtual void open(std::string& /*out*/) {}                     // the head is out
  virtual void first(std::string& out, const Usage& usage) = 0;  // the first token is there
  virtual void text(std::string& out, std::string_view more, const End* end) = 0;
  virtual void tool(std::string& out) = 0;
  virtual void arguments(std::string& out, std::string_view more, const End* end) = 0;
  virtual void end(std::string& out, const End& end) = 0;
  // The body of an answer that is not streamed; `text` is empty for a tool call, else `arguments` is.
  virtual std::string whole(std::string_view text, std::string_view arguments, const End& end) = 0;
};

std::unique_ptr<Answer> chat_answer(AnswerFacts facts);
std::unique_ptr<Answer> completions_answer(AnswerFacts facts);
std::unique_ptr<Answer> messages_answer(AnswerFacts facts);
std::unique_ptr<Answer> responses_answer(AnswerFacts facts);
std::unique_ptr<Answer> answer_in(dialect::Api api, AnswerFacts facts);

std::string_view openai_name(Ending ending);
std::string quoted(std::string_view text);

}  // namespace wg::replica
