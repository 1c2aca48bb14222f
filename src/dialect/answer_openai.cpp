// Answers of chat and completions, and whatever else counts its tokens their way.
#include <algorithm>

#include "dialect/answer_marks.h"
#include "dialect/answer_readers.h"
#include "dialect/error_reader.h"
#include "dialect/json_cursor.h"
#include "dialect/json_string.h"

namespace wg::dialect {
namespace {

Stop stop_of(std::string_view reason) {
  if (reason == "stop") return Stop::stop;
  if (reason == "length") return Stop::length;
  if (reason == "tool_calls" || reason == "function_call") return Stop::tool_calls;
  if (reason == "abort") return Stop::abort;
  return Stop::other;
}

class Reader {
 public:
  Reader(std::string_view json, AnswerFacts& facts) : cursor_(json), facts_(facts) {}

  // False if it is no JSON object.
  bool read() {
    if (cursor_.peek() != '{') return false;
    cursor_.object([&](std::string_view key) { top_level(key); });
    // With timings_per_token they come with every chunk: only the last one's are whole.
    if (!has_usage_ && timings_.measured && finished) facts_.usage = timings_;
    return cursor_.finish();
  }

  bool has_error = false, finished = false, aborted = false, has_token = false, has_choice = false;
  bool has_usage() const { return has_usage_; }

 private:
  void top_level(std::string_view key) {
    if (key == "choices") {
      cursor_.array([&] {
        has_choice = true;
        cursor_.object([&](std::string_view inner) { choice(inner); });
      });
    } else if (key == "usage" && cursor_.peek() == '{') {
      usage();
    } else if (key == "timings" && cursor_.peek() == '{') {
      timings();
    } else if (key == "error") {
      has_error |= cursor_.peek() != 'n';
    } else if (key == "object" && cursor_.peek() == '"') {
      has_error |= cursor_.string() == "error";
    }
  }

  void choice(std::string_view key) {
    if (key == "finish_reason" && cursor_.peek() == '"') {
      finished = true;
      facts_.stop = stop_of(cursor_.string());
      aborted |= facts_.stop == Stop::abort;
    } else if (key == "delta" || key == "message") {
      cursor_.object([&](std::string_view inner) { delta(inner); });
    } else if (key == "text") {
      has_token |= !is_empty();
    }
  }

  // Whatever else than the role a delta holds has been generated: text, reasoning, tool calls.
  void delta(std::string_view key) {
    if (key == "role") return;
    if (key == "tool_calls" && cursor_.peek() == '[') {
      cursor_.array([&] {
        has_token = true;
        cursor_.object([&](std::string_view inner) { tool_call(inner); });
      });
    } else {
      has_token |= !is_empty();
    }
  }

  void tool_call(std::string_view key) {
    if (key != "function") return;
    cursor_.object([&](std::string_view inner) {
      if (inner != "name" || cursor_.peek() != '"') return;
      if (const std::string_view name = cursor_.string(); !name.empty()) facts_.tool = decoded(name);
    });
  }

  bool is_empty() {
    const std::string_view value = cursor_.skip();
    return value == "\"\"" || value == "null" || value == "[]" || value == "{}";
  }

  void usage() {
    has_usage_ = true;
    Usage& usage = facts_.usage;
    cursor_.object([&](std::string_view key) {
      if (key == "prompt_tokens") {
        usage.measured = cursor_.peek() != 'n';
        usage.prompt = {cursor_.count()};
      } else if (key == "completion_tokens") {
        usage.output = {cursor_.count()};
      } else if (key == "prompt_tokens_details") {
        cursor_.object([&](std::string_view inner) {
          if (inner != "cached_tokens" || cursor_.peek() == 'n') return;
          usage.cached_measured = true;
          usage.cached = {cursor_.count()};
        });
      }
    });
  }

  // llama.cpp, on its last chunk where no usage was asked for.
  void timings() {
    std::int64_t computed = 0;
    bool has_prompt = false;
    cursor_.object([&](std::string_view key) {
      if (key == "prompt_n") {
        has_prompt = true;
        computed = cursor_.count();
      } else if (key == "cache_n") {
        timings_.cached_measured = true;
        timings_.cached = {cursor_.count()};
      } else if (key == "predicted_n") {
        timings_.output = {cursor_.count()};
      }
    });
    timings_.prompt = timings_.cached + Tokens{computed};
    timings_.measured = has_prompt;
  }

  JsonCursor cursor_;
  AnswerFacts& facts_;
  bool has_usage_ = false;
  Usage timings_;
};

bool carries_only_text(std::string_view json) {
  return !has_value(json, "\"finish_reason\"") && !has_value(json, "\"usage\"") && !has_value(json, "\"error\"") &&
         !contains(json, "\"role\"") && !contains(json, "\"name\"") && !contains(json, ":\"\"") &&
         contains(json, "\"choices\":[{") && !contains(json, "\"delta\":{}");
}

}  // namespace

Event read_openai_event(std::string_view json, AnswerFacts& facts) {
  if (carries_only_text(json)) return {EventKind::content};
  Reader reader(json, facts);
  if (!reader.read()) return {EventKind::content};
  if (reader.has_error) return error_in(json);
  if (reader.aborted) return {EventKind::abort};
  if (reader.finished) return {EventKind::closing};
  if (!reader.has_choice && reader.has_usage()) return {EventKind::usage};
  return {reader.has_token ? EventKind::content : EventKind::opening};
}

Event read_openai_body(std::string_view json, AnswerFacts& facts) {
  const AnswerFacts before = facts;
  Reader reader(json, facts);
  if (!reader.read()) return facts = before, Event{EventKind::content};
  if (reader.has_error) return error_in(json);
  return {reader.aborted ? EventKind::abort : EventKind::content};
}

Event error_in(std::string_view json) {
  // vLLM's words when the core of one rank has died; messages wrap them in a validation error that shows only their
  // code.
  const bool dead = contains(json, "EngineDeadError") || contains(json, "EngineCore encountered an issue") ||
                    (contains(json, "ChatCompletionStreamResponse") && contains(json, "'code': 500"));
  return {EventKind::error, read_engine_error(json).status, false, dead};
}

}  // namespace wg::dialect
