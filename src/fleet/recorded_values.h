// The values of a recording's line, and taking them one after the other as what they should be.
// Invariant: the first value that does not fit is remembered, and nothing behind it is read. Values only; any thread.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "fleet/recorded_fields.h"

namespace wg::fleet {

// One value of a line, as it stands there; of a text what was between its quotes, unescaped.
struct RecordedValue {
  std::string text;
  bool quoted = false;
};

// ["a",1,null]
Result<std::vector<RecordedValue>> values_of(std::string_view line);

// Takes values one after the other; the first that does not fit is remembered.
class ValueCursor {
 public:
  explicit ValueCursor(const std::vector<RecordedValue>& values, std::size_t from) : values_(values), at_(from) {}

  void read(bool& into) {
    const RecordedValue* const value = next(false);
    if (value && value->text != "true" && value->text != "false") return wrong(*value);
    if (value) into = value->text == "true";
  }
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  void read(T& into) {
    if (const RecordedValue* const value = next(false)) number(*value, into, 10);
  }
  template <class T>
    requires std::is_enum_v<T>
  void read(T& into) {
    const RecordedValue* const value = next(false);
    int code = 0;
    if (value) number(*value, code, 10);
    if (value && (code < 0 || code > last_of(T{}))) return wrong(*value);
    into = static_cast<T>(code);
  }
  void read(Tokens& into) { read(into.count); }
  void read(Duration& into) {
    Duration::rep count = 0;
    read(count);
    into = Duration(count);
  }
  void read(SessionKey& into) {
    into = {};
    if (at_ < values_.size() && !values_[at_].quoted && values_[at_].text == "0") return void(++at_);
    const RecordedValue* const value = next(true);
    if (!value) return;
    if (value->text.size() != 32) return wrong(*value);
    number({value->text.substr(0, 16), false}, into.high, 16);
    number({value->text.substr(16), false}, into.low, 16);
  }
  void read(std::string& into) {
    if (const RecordedValue* const value = next(true)) into = value->text;
  }
  void read_hex(std::uint64_t& into) {
    if (const RecordedValue* const value = next(true)) number(*value, into, 16);
  }
  template <class T>
  void read(std::optional<T>& into) {
    into.reset();
    if (at_ < values_.size() && !values_[at_].quoted && values_[at_].text == "null") return void(++at_);
    T value{};
    read(value);
    into = std::move(value);
  }
  template <class T>
  void read_fields(T& into) {
    std::apply([this](auto&... field) { (read(field), ...); }, fields_of(into));
  }

  bool at_end() const { return at_ == values_.size(); }
  Result<void> done() const {
    if (!problem_.empty()) return fail(Fault::client, problem_);
    if (!at_end()) return fail(Fault::client, "it has more values than such a line has");
    return {};
  }

 private:
  const RecordedValue* next(bool quoted) {
    if (!problem_.empty()) return nullptr;
    if (at_ == values_.size()) problem_ = "it has fewer values than such a line has";
    if (!problem_.empty()) return nullptr;
    const RecordedValue& value = values_[at_++];
    if (value.quoted == quoted) return &value;
    wrong(value);
    return nullptr;
  }
  void wrong(const RecordedValue& value) {
    if (problem_.empty()) problem_ = "value " + std::to_string(at_) + " cannot be '" + value.text.substr(0, 40) + "'";
  }
  template <class T>
  void number(const RecordedValue& value, T& into, int base) {
    const char* const end = value.text.data() + value.text.size();
    std::from_chars_result read{};
    if constexpr (std::is_floating_point_v<T>)
      read = std::from_chars(value.text.data(), end, into);
    else
      read = std::from_chars(value.text.data(), end, into, base);
    if (read.ec != std::errc() || read.ptr != end) wrong(value);
  }

  const std::vector<RecordedValue>& values_;
  std::size_t at_;
  std::string problem_;
};

}  // namespace wg::fleet
