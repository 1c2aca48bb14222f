#include "record/request_line.h"

#include <fmt/format.h>

#include <cstdint>

#include "record/escape.h"

namespace wg::record {
namespace {

constexpr std::size_t longest_path = 512, longest_name = 256, longest_sentence = 512, longest_message = 4'096;

class Fields {
 public:
  Fields(std::string& line, LineForm form) : line_(line), json_(form == LineForm::json) {}

  void text(std::string_view name, std::string_view value, std::size_t longest = longest_name) {
    if (!begin(name, !value.empty())) return;
    value = clipped(value, longest);
    if (json_)
      append_json_string(line_, value);
    else
      append_word(line_, value);
  }

  template <class Number>
  void number(std::string_view name, Number value, bool applies = true) {
    if (begin(name, applies)) digits(value);
  }

  void millis(std::string_view name, Duration value, bool applies = true) {
    if (!begin(name, applies)) return;
    const std::int64_t tenths = (value.count() + 50) / 100;  // no request lasts less than nothing
    digits(tenths / 10);
    line_ += '.';
    line_ += static_cast<char>('0' + tenths % 10);
  }

  void flag(std::string_view name, bool value, bool applies = true) {
    if (begin(name, applies)) line_ += value ? "true" : "false";
  }

 private:
  // Writes the name; false: no value is to follow.
  bool begin(std::string_view name, bool applies) {
    if (!applies && !json_) return false;
    line_ += json_ ? ",\"" : " ";
    line_ += name;
    line_ += json_ ? "\":" : "=";
    if (!applies) line_ += "null";
    return applies;
  }

  template <class Number>
  void digits(Number value) {
    const fmt::format_int text(value);
    line_.append(text.data(), text.size());
  }

  std::string& line_;
  bool json_;
};

}  // namespace

void append_request(std::string& line, const RequestRecord& record, LineForm form) {
  line += form == LineForm::json ? R"("event":"request")" : "request";
  Fields fields(line, form);
  fields.text("id", record.request_id);
  fields.text("method", record.method);
  fields.text("path", record.path, longest_path);
  fields.text("api", record.api);
  fields.number("status", record.status);
  fields.text("outcome", record.outcome);
  fields.text("pool", record.pool);
  fields.text("replica", record.replica);
  fields.text("route", record.route);
  fields.text("rule", record.rule);
  fields.text("session", record.session);
  fields.text("key_source", record.key_source);
  fields.text("model", record.model);
  fields.number("attempts", record.attempts);
  fields.flag("streamed", record.streamed);
  fields.number("bytes_in", record.bytes_in);
  fields.number("bytes_out", record.bytes_out);
  const bool counted = record.measured || record.prompt.count > 0 || record.output.count > 0;
  fields.number("prompt", record.prompt.count, counted);
  fields.number("cached", record.cached.count, record.cached_measured);
  fields.number("output", record.output.count, counted);
  fields.flag("measured", record.measured, counted);
  fields.text("stop", record.stop);
  fields.millis("waited_ms", record.waited);
  fields.millis("ttft_ms", record.ttft, record.ttft.count() > 0);
  fields.millis("total_ms", record.total);
  fields.text("error", record.error, longest_sentence);
}

void append_message(std::string& line, std::string_view message, LineForm form) {
  message = clipped(message, longest_message);
  if (form == LineForm::text) return append_sentence(line, message);
  line += R"("event":"message","message":)";
  append_json_string(line, message);
}

}  // namespace wg::record
