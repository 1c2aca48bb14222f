// The text of a trace, line by line.
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "dialect/json_cursor.h"
#include "sim/trace.h"

namespace wg::sim {

namespace {

constexpr std::string_view columns = "session, model, system_tokens, tool_tokens, turns, parent, after_turn";
constexpr std::string_view turn_form = "[think_s, input_tokens, output_tokens, kept_prefix_tokens, api_s]";
constexpr double most = 1e9;

class Line {
 public:
  explicit Line(std::string_view text) : cursor_(text) {}

  // The session, or what is wrong with it.
  Result<TraceSession> read() {
    if (cursor_.peek() != '{') return fail(Fault::client, "it is no JSON object");
    cursor_.object([&](std::string_view column) { member(std::string(column)); });
    cursor_.finish();
    if (!cursor_.ok())
      return fail(Fault::client,
                  std::string(cursor_.fault().what) + " at column " + std::to_string(cursor_.fault().offset + 1));
    if (wrong_.empty() && session_.turns.empty()) wrong_ = "it has no turns";
    if (!wrong_.empty()) return fail(Fault::client, wrong_);
    return std::move(session_);
  }

 private:
  void wrong(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }

  void member(const std::string& column) {
    if (column == "system_tokens" || column == "tool_tokens") {
      session_.head += static_cast<std::int64_t>(std::llround(number(column)));
    } else if (column == "after_turn") {
      number(column);
    } else if (column == "session" || column == "model" || column == "parent") {
      if (cursor_.string().data() == nullptr) wrong(column + " must be a text");
    } else if (column == "turns") {
      if (cursor_.peek() != '[') return wrong("turns must be a list");
      cursor_.array([&] { turn(); });
    } else {
      wrong("unknown column '" + column + "'; known are " + std::string(columns));
    }
  }

  void turn() {
    const std::string name = "turn " + std::to_string(session_.turns.size() + 1);
    std::array<double, 5> values{};
    std::size_t count = 0;
    if (cursor_.peek() != '[') return wrong(name + " must be " + std::string(turn_form));
    cursor_.array([&] {
      const double value = number(name);
      if (count < values.size()) values[count] = value;
      ++count;
    });
    if (count != values.size())
      return wrong(name + " has " + std::to_string(count) + " numbers instead of " + std::string(turn_form));
    if (values[1] < 1) return wrong(name + " has no input tokens");
    const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(std::llround(values[i])); };
    session_.turns.push_back({values[0], whole(1), whole(2), whole(3)});
  }

  double number(const std::string& where) {
    const std::string_view text = cursor_.skip();
    double value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > most)
      wrong(where + ": '" + std::string(text.substr(0, 20)) + "' is no number from 0 to 1e9");
    return value;
  }

  dialect::JsonCursor cursor_;
  TraceSession session_;
  std::string wrong_;
};

}  // namespace

Result<Trace> read_trace(std::string_view text) {
  Trace trace;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    auto session = Line(line).read();
    if (!session) return fail(Fault::client, "line " + std::to_string(number) + ": " + session.error().what);
    trace.sessions.push_back(std::move(*session));
  }
  if (trace.sessions.empty()) return fail(Fault::client, "there are no sessions in it");
  return trace;
}

}  // namespace wg::sim
