// Prometheus text, one line at a time: name, labels, value, as views into the page. Nothing is copied or allocated.
// Invariant: whatever the bytes are, every call ends after at most one pass over the line. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wg::probe {

struct Label {
  std::string_view name;
  std::string_view value;  // as it stands between the quotes, escapes and all
};

// The part of a sample line after the metric's name: {labels} value [timestamp] [# exemplar].
class SampleTail {
 public:
  explicit SampleTail(std::string_view tail);

  // The next label, or nothing when there is none left or the text is no label; then well_formed() tells which.
  std::optional<Label> next_label();
  bool well_formed() const { return state_ == State::done; }

  // After the labels. Not a number, an infinity or an overflow reads as 0; text that is no number at all gives nothing.
  std::optional<double> value() const;

 private:
  enum class State { labels, done, broken };
  void skip_blanks();
  bool take(char expected);

  std::string_view rest_;
  State state_;
};

// A label's value with \\, \" and \n resolved.
std::string unescaped(std::string_view raw);

// Digits only, at most `highest`; anything else gives nothing.
std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t highest);

// Takes the next line (without its end) off the front of `text`, which must not be empty. A last line may lack its end.
std::string_view take_line(std::string_view& text);

// The metric's name at the start of a line; what follows it begins at name.size().
std::string_view metric_name(std::string_view line);

}  // namespace wg::probe
