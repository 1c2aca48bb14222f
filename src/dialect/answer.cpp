#include "dialect/answer.h"

#include <string>

#include "dialect/answer_readers.h"
#include "dialect/json_cursor.h"
#include "dialect/sse_event.h"

namespace wg::dialect {
namespace {

// Messages and Responses name every event in its JSON too; only a stream without "event:" lines is asked for it.
std::string_view type_in(std::string_view json) {
  JsonCursor cursor(json);
  std::string_view type;
  cursor.object([&](std::string_view key) {
    if (key == "type") type = cursor.string();
  });
  return type;
}

}  // namespace

std::string_view name_of(Stop stop) {
  switch (stop) {
    case Stop::none:
      return "none";
    case Stop::stop:
      return "stop";
    case Stop::length:
      return "length";
    case Stop::tool_calls:
      return "tool_calls";
    case Stop::abort:
      return "abort";
    case Stop::other:
      return "other";
  }
  return "other";
}

Event AnswerReader::on_event(std::string_view event) {
  std::string joined;
  SseEvent fields = read_sse_event(event, joined);
  if (!fields.has_data || fields.name == "ping") return {EventKind::comment};
  if (fields.data == "[DONE]") return {EventKind::closing, 0, true};
  if (fields.name == "error") return error_in(fields.data);
  switch (api_) {
    case Api::messages:
    case Api::count_tokens:
      if (fields.name.empty()) fields.name = type_in(fields.data);
      return read_messages_event(fields.name, fields.data, facts_, messages_usage_);
    case Api::responses:
      if (fields.name.empty()) fields.name = type_in(fields.data);
      return read_responses_event(fields.name, fields.data, facts_);
    default:
      return read_openai_event(fields.data, facts_);
  }
}

Event AnswerReader::on_body(std::string_view body) {
  Event event;
  switch (api_) {
    case Api::messages:
    case Api::count_tokens:
      event = read_messages_body(body, facts_, messages_usage_);
      break;
    case Api::responses:
      event = read_responses_body(body, facts_);
      break;
    default:
      event = read_openai_body(body, facts_);
  }
  event.ends = true;
  return event;
}

}  // namespace wg::dialect
