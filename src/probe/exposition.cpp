#include "probe/exposition.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace wg::probe {
namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Length of a quoted value up to its closing quote, or npos.
std::size_t closing_quote(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return i;
    if (text[i] == '\\') ++i;
  }
  return std::string_view::npos;
}

}  // namespace

SampleTail::SampleTail(std::string_view tail) : rest_(tail), state_(State::done) {
  skip_blanks();
  if (take('{')) state_ = State::labels;
}

void SampleTail::skip_blanks() {
  while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
}

bool SampleTail::take(char expected) {
  if (rest_.empty() || rest_.front() != expected) return false;
  rest_.remove_prefix(1);
  return true;
}

std::optional<Label> SampleTail::next_label() {
  if (state_ != State::labels) return std::nullopt;
  skip_blanks();
  if (take('}')) {
    state_ = State::done;
    return std::nullopt;
  }
  state_ = State::broken;  // until a whole label has been read
  const std::size_t name_end = rest_.find_first_of("= \t\",{}");
  if (name_end == std::string_view::npos || name_end == 0) return std::nullopt;
  Label label{rest_.substr(0, name_end), {}};
  rest_.remove_prefix(name_end);
  skip_blanks();
  if (!take('=')) return std::nullopt;
  skip_blanks();
  if (!take('"')) return std::nullopt;
  const std::size_t length = closing_quote(rest_);
  if (length == std::string_view::npos) return std::nullopt;
  label.value = rest_.substr(0, length);
  rest_.remove_prefix(length + 1);
  skip_blanks();
  if (!take(',') && (rest_.empty() || rest_.front() != '}')) return std::nullopt;
  state_ = State::labels;
  return label;
}

std::optional<double> SampleTail::value() const {
  std::string_view text = rest_;
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument) return std::nullopt;
  const auto used = static_cast<std::size_t>(end - text.data());
  if (used < text.size() && !is_blank(text[used])) return std::nullopt;
  if (error == std::errc::result_out_of_range || !std::isfinite(number)) return 0.0;
  return number;
}

std::string unescaped(std::string_view raw) {
  std::string plain;
  plain.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      plain += raw[i];
      continue;
    }
    ++i;
    plain += raw[i] == 'n' ? '\n' : raw[i];
  }
  return plain;
}

std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t highest) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number > highest) return std::nullopt;
  return number;
}

std::string_view take_line(std::string_view& text) {
  const void* found = std::memchr(text.data(), '\n', text.size());
  const std::size_t length =
      found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) : text.size();
  std::string_view line = text.substr(0, length);
  text.remove_prefix(found ? length + 1 : length);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// Three vectorised searches beat one loop over the forty characters of a name: this runs for every line of a page.
std::string_view metric_name(std::string_view line) {
  std::string_view name = line.substr(0, line.find('{'));
  name = name.substr(0, name.find(' '));
  return name.substr(0, name.find('\t'));
}

}  // namespace wg::probe
