// What an engine's answer says in passing: usage, stop reason, first content, errors. Events and bodies are looked at
// once and passed on as they came. One reader an answer; pure; no allocation for an event that carries only text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/units.h"
#include "dialect/api.h"

namespace wg::dialect {

struct Usage {
  Tokens prompt;  // the whole prompt, cached part included, in every dialect
  Tokens cached;
  Tokens output;
  bool measured = false;         // the engine reported prompt tokens at all
  bool cached_measured = false;  // ... and how many of them were cached; else the whole prompt counts as computed
};

enum class Stop : std::uint8_t { none, stop, length, tool_calls, abort, other };
std::string_view name_of(Stop stop);

struct AnswerFacts {
  Usage usage;
  Stop stop = Stop::none;
  std::string response_id;  // of the Responses API
  std::string tool;         // name of the last tool called, if seen
};

enum class EventKind : std::uint8_t {
  comment,  // SSE comments, Anthropic pings: signs of life, not content
  opening,  // role chunk, message_start, content_block_start, response.created: head of an answer, no token yet;
            // also what carries none later on: content_block_stop, an empty delta, the Responses API's *.done
  content,  // carries a token (text, tool arguments, reasoning)
  closing,  // finish reason, message_delta/stop, response.completed, [DONE]
  usage,    // OpenAI's extra chunk with empty choices: taken out again where the client had not asked
  error,    // an error event
  abort     // a finish reason "abort", which no client asked for
};

struct Event {
  EventKind kind = EventKind::content;
  int status = 0;  // of an error: its HTTP code if it names one, else 500
  bool ends =
      false;  // the stream is complete with this one ([DONE], message_stop, response.completed/failed/incomplete)
  bool engine_dead = false;  // of an error: the engine says that it is dying, so its other streams are too
};

// Messages reports its prompt in parts, and in parts of the stream: llama.cpp in message_start, vLLM there without the
// cache and again in message_delta. What came last of each part is kept. -1: not reported.
struct MessagesUsage {
  std::int64_t input = -1, cache_read = -1, cache_creation = -1;
};

class AnswerReader {
 public:
  explicit AnswerReader(Api api) : api_(api) {}

  // One whole SSE event, with or without its terminating blank line; CR, LF or CRLF line ends.
  Event on_event(std::string_view event);

  // The whole body of an answer that was not streamed. An abort in it gives kind abort; a body that is an error object
  // gives kind error; a body that is no JSON gives content and no usage.
  Event on_body(std::string_view body);

  const AnswerFacts& facts() const { return facts_; }

 private:
  Api api_;
  AnswerFacts facts_;
  MessagesUsage messages_usage_;
};

}  // namespace wg::dialect
