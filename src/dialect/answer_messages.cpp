// Answers of the Messages API.
#include "dialect/answer_marks.h"
#include "dialect/answer_readers.h"
#include "dialect/json_cursor.h"
#include "dialect/json_string.h"

namespace wg::dialect {
namespace {

Stop stop_of(std::string_view reason) {
  if (reason == "end_turn" || reason == "stop_sequence") return Stop::stop;
  if (reason == "max_tokens") return Stop::length;
  if (reason == "tool_use") return Stop::tool_calls;
  if (reason == "abort") return Stop::abort;
  return Stop::other;
}

class Reader {
 public:
  Reader(std::string_view json, AnswerFacts& facts, MessagesUsage& usage)
      : cursor_(json), facts_(facts), parts_(usage) {}

  bool read() {
    if (cursor_.peek() != '{') return false;
    cursor_.object([&](std::string_view key) { member(key); });
    return cursor_.finish();
  }

  bool has_error = false, aborted = false, has_stop = false, null_stop = false, has_content = false;

 private:
  // The whole message, or the one inside message_start, or the delta of message_delta, or a block of either.
  void member(std::string_view key) {
    if (key == "message" || key == "delta" || key == "content_block") {
      cursor_.object([&](std::string_view inner) { member(inner); });
    } else if (key == "usage" && cursor_.peek() == '{') {
      usage();
    } else if (key == "stop_reason" && cursor_.peek() == 'n') {
      null_stop = true;
    } else if (key == "stop_reason" && cursor_.peek() == '"') {
      facts_.stop = stop_of(cursor_.string());
      has_stop = true;
      aborted |= facts_.stop == Stop::abort;
    } else if (key == "content") {
      has_content = true;
      cursor_.array([&] { block(); });
    } else if (key == "name" && cursor_.peek() == '"') {
      facts_.tool = decoded(cursor_.string());  // of a content_block: text blocks have none
    } else if (key == "error") {
      has_error |= cursor_.peek() != 'n';
    }
  }

  void block() {
    cursor_.object([&](std::string_view key) {
      if (key == "name" && cursor_.peek() == '"') facts_.tool = decoded(cursor_.string());
    });
  }

  void usage() {
    MessagesUsage now;
    cursor_.object([&](std::string_view key) {
      if (cursor_.peek() == 'n') return;
      if (key == "input_tokens") now.input = cursor_.count();
      if (key == "cache_read_input_tokens") now.cache_read = cursor_.count();
      if (key == "cache_creation_input_tokens") now.cache_creation = cursor_.count();
      if (key == "output_tokens") facts_.usage.output = {cursor_.count()};
    });
    merge(now);
  }

  void merge(const MessagesUsage& now) {
    // A zero alone at the end is a place holder of servers that counted at the start.
    const bool is_place_holder = now.input == 0 && now.cache_read < 0 && parts_.input > 0;
    if (now.input >= 0 && !is_place_holder) parts_.input = now.input;
    if (now.cache_read >= 0) parts_.cache_read = now.cache_read;
    if (now.cache_creation >= 0) parts_.cache_creation = now.cache_creation;
    const auto count = [](std::int64_t part) { return part < 0 ? 0 : part; };
    Usage& usage = facts_.usage;
    usage.measured = parts_.input >= 0;
    usage.cached_measured = parts_.cache_read >= 0;
    usage.prompt = {count(parts_.input) + count(parts_.cache_read) + count(parts_.cache_creation)};
    usage.cached = {count(parts_.cache_read)};
  }

  JsonCursor cursor_;
  AnswerFacts& facts_;
  MessagesUsage& parts_;
};

bool is_empty_delta(std::string_view json) {
  return contains(json, "\"text\":\"\"") || contains(json, "\"partial_json\":\"\"") ||
         contains(json, "\"thinking\":\"\"");
}

}  // namespace

Event read_messages_event(std::string_view name, std::string_view json, AnswerFacts& facts, MessagesUsage& usage) {
  if (name == "content_block_delta") return {is_empty_delta(json) ? EventKind::opening : EventKind::content};
  if (name == "message_stop") return {EventKind::closing, 0, true};
  if (name == "ping") return {EventKind::comment};
  if (name == "error") return error_in(json);
  if (name == "content_block_start" && !contains(json, "\"tool_use\"")) return {EventKind::opening};
  if (name != "message_start" && name != "message_delta" && name != "content_block_start") {
    // vLLM's validation errors are of OpenAI's shape here too.
    return has_value(json, "\"error\"") ? error_in(json) : Event{EventKind::opening};
  }
  Reader reader(json, facts, usage);
  reader.read();
  // An abort has no name in this API: when one rank of vLLM dies, the others' answers end without a stop reason.
  const bool ends_for_no_reason = name == "message_delta" && reader.null_stop;
  if (reader.aborted || ends_for_no_reason) return {EventKind::abort};
  return {name == "message_delta" ? EventKind::closing : EventKind::opening};
}

Event read_messages_body(std::string_view json, AnswerFacts& facts, MessagesUsage& usage) {
  const AnswerFacts before = facts;
  Reader reader(json, facts, usage);
  if (!reader.read()) return facts = before, Event{EventKind::content};
  if (reader.has_error) return error_in(json);
  const bool ended_for_no_reason = reader.has_content && !reader.has_stop;
  return {reader.aborted || ended_for_no_reason ? EventKind::abort : EventKind::content};
}

}  // namespace wg::dialect
