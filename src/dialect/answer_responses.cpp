// Answers of the Responses API.
#include "dialect/answer_marks.h"
#include "dialect/answer_readers.h"
#include "dialect/json_cursor.h"
#include "dialect/json_string.h"

namespace wg::dialect {
namespace {

bool is_tool_call(std::string_view type) {
  return type == "function_call" || type == "custom_tool_call" || type == "local_shell_call";
}

class Reader {
 public:
  Reader(std::string_view json, AnswerFacts& facts) : cursor_(json), facts_(facts) {}

  // An event: the response, or one of its items, lies inside.
  bool read_event() {
    cursor_.object([&](std::string_view key) {
      if (key == "response") response();
      if (key == "item") item();
    });
    return cursor_.finish();
  }

  bool read_body() {
    if (cursor_.peek() != '{') return false;
    response();
    return cursor_.finish();
  }

  bool has_error = false;
  bool is_cancelled() const { return status_ == "cancelled"; }  // vLLM's word for an aborted generation

  void conclude() {
    if (is_cancelled()) {
      facts_.stop = Stop::abort;
    } else if (status_ == "incomplete") {  // vLLM says so inside response.completed
      facts_.stop = reason_ == "max_output_tokens" ? Stop::length : Stop::other;
    } else if (status_ == "completed") {
      facts_.stop = facts_.tool.empty() ? Stop::stop : Stop::tool_calls;
    }
  }

 private:
  void response() {
    cursor_.object([&](std::string_view key) {
      if (key == "id" && cursor_.peek() == '"') {
        const std::string_view id = cursor_.string();
        if (facts_.response_id.empty()) facts_.response_id = decoded(id);
      } else if (key == "status") {
        status_ = cursor_.string();
      } else if (key == "error") {
        has_error |= cursor_.peek() != 'n';
      } else if (key == "usage" && cursor_.peek() == '{') {
        usage();
      } else if (key == "output") {
        cursor_.array([&] { item(); });
      } else if (key == "incomplete_details") {
        cursor_.object([&](std::string_view inner) {
          if (inner == "reason") reason_ = cursor_.string();
        });
      }
    });
  }

  void item() {
    std::string_view type, name;
    cursor_.object([&](std::string_view key) {
      if (key == "type") type = cursor_.string();
      if (key == "name") name = cursor_.string();
    });
    if (is_tool_call(type)) facts_.tool = decoded(name.empty() ? type : name);
  }

  void usage() {
    Usage& usage = facts_.usage;
    cursor_.object([&](std::string_view key) {
      if (key == "input_tokens") {
        usage.measured = cursor_.peek() != 'n';
        usage.prompt = {cursor_.count()};
      } else if (key == "output_tokens") {
        usage.output = {cursor_.count()};
      } else if (key == "input_tokens_details") {
        cursor_.object([&](std::string_view inner) {
          if (inner != "cached_tokens" || cursor_.peek() == 'n') return;
          usage.cached_measured = true;
          usage.cached = {cursor_.count()};
        });
      }
    });
  }

  JsonCursor cursor_;
  AnswerFacts& facts_;
  std::string_view status_, reason_;
};

bool is_last(std::string_view name) {
  return name == "response.completed" || name == "response.incomplete" || name == "response.failed" ||
         name == "response.cancelled";
}

}  // namespace

Event read_responses_event(std::string_view name, std::string_view json, AnswerFacts& facts) {
  if (name.ends_with(".delta")) return {contains(json, "\"delta\":\"\"") ? EventKind::opening : EventKind::content};
  if (name == "error") return error_in(json);
  const bool last = is_last(name);
  const bool has_id = name == "response.created" && facts.response_id.empty();
  const bool has_tool = name.starts_with("response.output_item.") && contains(json, "_call\"");
  if (!last && !has_id && !has_tool)
    return name.empty() && has_value(json, "\"error\"") ? error_in(json) : Event{EventKind::opening};
  Reader reader(json, facts);
  reader.read_event();
  if (!last) return {EventKind::opening};
  if (name == "response.failed") return {EventKind::error, error_in(json).status, true};
  reader.conclude();
  if (name == "response.cancelled") facts.stop = Stop::abort;
  return {facts.stop == Stop::abort ? EventKind::abort : EventKind::closing, 0, true};
}

Event read_responses_body(std::string_view json, AnswerFacts& facts) {
  const AnswerFacts before = facts;
  Reader reader(json, facts);
  if (!reader.read_body()) return facts = before, Event{EventKind::content};
  if (reader.has_error) return error_in(json);
  reader.conclude();
  return {reader.is_cancelled() ? EventKind::abort : EventKind::content};
}

}  // namespace wg::dialect
