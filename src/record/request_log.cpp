#include "record/request_log.h"

#include <stdexcept>

#include "record/line_queue.h"
#include "record/request_line.h"
#include "record/timestamp.h"

namespace wg::record {
namespace {

enum class Level { debug, info, warning, error };

LineForm form_named(const std::string& name) {
  if (name == "text") return LineForm::text;
  if (name == "json") return LineForm::json;
  throw std::runtime_error("log format " + name + " is unknown; allowed: text, json");
}

Level level_named(const std::string& name) {
  if (name == "debug") return Level::debug;
  if (name == "info") return Level::info;
  if (name == "warning") return Level::warning;
  if (name == "error") return Level::error;
  throw std::runtime_error("log level " + name + " is unknown; allowed: debug, info, warning, error");
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "";
}

void append_beginning(std::string& line, Level level, LineForm form) {
  const bool json = form == LineForm::json;
  if (json) line += R"({"time":")";
  append_timestamp(line);
  line.append(json ? R"(","level":")" : " ").append(name_of(level)).append(json ? "\"," : " ");
}

void append_end(std::string& line, LineForm form) { line += form == LineForm::json ? "}\n" : "\n"; }

std::string notice_of_loss(LineForm form) {
  std::string line;
  append_beginning(line, Level::warning, form);
  append_message(
      line, "log lines were lost: the queue or the disk was full; warmgate_log_lines_dropped_total counts them", form);
  append_end(line, form);
  return line;
}

}  // namespace

// Lines are formatted where they arise, into a buffer that the thread keeps, and copied once into the queue: copying
// the record's strings for the log thread to format would cost more.
struct Log::State {
  explicit State(const LogOptions& options)
      : form(form_named(options.format)),
        lowest(level_named(options.level)),
        queue(options.file, notice_of_loss(form)) {}

  template <class Append>
  void write(Level level, Append&& append) {
    if (level < lowest) return;
    thread_local std::string line;
    line.clear();
    append_beginning(line, level, form);
    append(line);
    append_end(line, form);
    queue.add(line);
  }

  void message(Level level, std::string_view text) {
    write(level, [&](std::string& line) { append_message(line, text, form); });
  }

  LineForm form;
  Level lowest;
  LineQueue queue;
};

Log::Log(const LogOptions& options) : state_(std::make_unique<State>(options)) {}
Log::~Log() = default;

void Log::request(const RequestRecord& record) {
  state_->write(Level::info, [&](std::string& line) { append_request(line, record, state_->form); });
}
void Log::debug(std::string_view message) { state_->message(Level::debug, message); }
void Log::info(std::string_view message) { state_->message(Level::info, message); }
void Log::warning(std::string_view message) { state_->message(Level::warning, message); }
void Log::error(std::string_view message) { state_->message(Level::error, message); }

std::uint64_t Log::dropped() const { return state_->queue.lost(); }

}  // namespace wg::record
