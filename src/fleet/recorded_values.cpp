#include "fleet/recorded_values.h"

namespace wg::fleet {
namespace {

tl::unexpected<Error> bad(const char* what) { return fail(Fault::client, what); }

class Splitter {
 public:
  explicit Splitter(std::string_view line) : rest_(line) {}

  Result<std::vector<RecordedValue>> all() {
    std::vector<RecordedValue> values;
    if (!take('[') || rest_.empty() || rest_.back() != ']') return bad("no whole JSON array");
    for (bool more = true; more; more = take(',')) {
      RecordedValue value;
      value.quoted = take('"');
      if (!(value.quoted ? read_text(value.text) : read_word(value.text))) return bad("no whole JSON array");
      values.push_back(std::move(value));
    }
    if (!take(']') || !rest_.empty()) return bad("something stands behind the array");
    return values;
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool read_word(std::string& out) {
    const auto end = rest_.find_first_of(",]");
    out = rest_.substr(0, end);
    if (end == rest_.npos || out.empty()) return false;
    rest_.remove_prefix(end);
    return true;
  }
  bool read_text(std::string& out) {
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c != '\\') {
        out += c;
      } else if (rest_.size() >= 5 && rest_[0] == 'u') {
        int code = 0;
        const auto [end, error] = std::from_chars(rest_.data() + 1, rest_.data() + 5, code, 16);
        if (error != std::errc() || end != rest_.data() + 5 || code > 127) return false;
        out += static_cast<char>(code);
        rest_.remove_prefix(5);
      } else if (!rest_.empty()) {
        out += rest_.front();
        rest_.remove_prefix(1);
      }
    }
    return false;
  }

  std::string_view rest_;
};

}  // namespace

Result<std::vector<RecordedValue>> values_of(std::string_view line) { return Splitter(line).all(); }

}  // namespace wg::fleet
