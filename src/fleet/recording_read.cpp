#include <charconv>
#include <type_traits>

#include "fleet/recorded_fields.h"
#include "fleet/recording.h"

namespace wg::fleet {
namespace {

// One value of a line, as it stands there; of a text what was between its quotes, unescaped.
struct Value {
  std::string text;
  bool quoted = false;
};

tl::unexpected<Error> bad(std::string what) { return fail(Fault::client, std::move(what)); }

// Splits ["a",1,null] into its values.
class Splitter {
 public:
  explicit Splitter(std::string_view line) : rest_(line) {}

  Result<std::vector<Value>> all() {
    std::vector<Value> values;
    if (!take('[') || rest_.empty() || rest_.back() != ']') return bad("no whole JSON array");
    for (bool more = true; more; more = take(',')) {
      Value value;
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

// Takes values one after the other; the first that does not fit is remembered.
class Cursor {
 public:
  explicit Cursor(const std::vector<Value>& values, std::size_t from) : values_(values), at_(from) {}

  void read(bool& into) {
    const Value* const value = next(false);
    if (value && value->text != "true" && value->text != "false") return wrong(*value);
    if (value) into = value->text == "true";
  }
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  void read(T& into) {
    if (const Value* const value = next(false)) number(*value, into, 10);
  }
  template <class T>
    requires std::is_enum_v<T>
  void read(T& into) {
    const Value* const value = next(false);
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
    const Value* const value = next(true);
    if (!value) return;
    if (value->text.size() != 32) return wrong(*value);
    number({value->text.substr(0, 16), false}, into.high, 16);
    number({value->text.substr(16), false}, into.low, 16);
  }
  void read(std::string& into) {
    if (const Value* const value = next(true)) into = value->text;
  }
  void read_hex(std::uint64_t& into) {
    if (const Value* const value = next(true)) number(*value, into, 16);
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
    if (!problem_.empty()) return bad(problem_);
    if (!at_end()) return bad("it has more values than such a line has");
    return {};
  }

 private:
  const Value* next(bool quoted) {
    if (!problem_.empty()) return nullptr;
    if (at_ == values_.size()) problem_ = "it has fewer values than such a line has";
    if (!problem_.empty()) return nullptr;
    const Value& value = values_[at_++];
    if (value.quoted == quoted) return &value;
    wrong(value);
    return nullptr;
  }
  void wrong(const Value& value) {
    if (problem_.empty()) problem_ = "value " + std::to_string(at_) + " cannot be '" + value.text.substr(0, 40) + "'";
  }
  template <class T>
  void number(const Value& value, T& into, int base) {
    const char* const end = value.text.data() + value.text.size();
    std::from_chars_result read{};
    if constexpr (std::is_floating_point_v<T>)
      read = std::from_chars(value.text.data(), end, into);
    else
      read = std::from_chars(value.text.data(), end, into, base);
    if (read.ec != std::errc() || read.ptr != end) wrong(value);
  }

  const std::vector<Value>& values_;
  std::size_t at_;
  std::string problem_;
};

template <std::size_t I = 0>
Result<Event> event_named(const std::string& name, Cursor& values) {
  if constexpr (I == std::variant_size_v<Event>) {
    return bad("there is no event '" + name + "'");
  } else {
    std::variant_alternative_t<I, Event> event;
    if (name != recorded_name(event)) return event_named<I + 1>(name, values);
    values.read_fields(event);
    if (const auto done = values.done(); !done) return tl::unexpected(done.error());
    return Event(std::move(event));
  }
}

class Reader {
 public:
  // False: what follows is not to be read.
  Result<bool> line(const std::vector<Value>& values, std::size_t number) {
    const std::string& first = values.front().text;
    if (!open_) return head(values);
    if (!values.front().quoted) return event(values, number);
    Cursor cursor(values, 1);
    if (first == "=") return decisions(cursor);
    if (first == "end") return end(cursor);
    if (first == "lost") return true;  // numbers tell where
    if (first == "fleet") cursor.read_fields(recording_.spec);
    if (first == "pool") cursor.read_fields(recording_.spec.pools.emplace_back());
    if (first == "engine") cursor.read_fields(recording_.spec.engines.emplace_back());
    if (first != "fleet" && first != "pool" && first != "engine") return bad("there is no line '" + first + "'");
    if (const auto done = cursor.done(); !done) return tl::unexpected(done.error());
    return true;
  }
  Result<Recording> done() {
    if (!open_) return bad("line 1: the file is empty");
    for (const EngineSpec& engine : recording_.spec.engines)
      if (engine.pool >= recording_.spec.pools.size()) return bad("line 1: an engine's pool is missing");
    return std::move(recording_);
  }

 private:
  Result<bool> head(const std::vector<Value>& values) {
    if (values.size() != 2 || values[0].text != "warmgate-recording") return bad("this is no recording of warmgate");
    if (values[1].text != std::to_string(recording_version))
      return bad("a recording of version " + values[1].text + "; this program reads version " +
                 std::to_string(recording_version));
    open_ = true;
    return true;
  }

  Result<bool> event(const std::vector<Value>& values, std::size_t line) {
    RecordedStep step;
    step.line = line;
    Duration at{};
    std::string name;
    Cursor cursor(values, 0);
    cursor.read(step.number);
    cursor.read(at);
    cursor.read(name);
    auto event = event_named(name, cursor);
    if (!event) return tl::unexpected(event.error());
    const std::uint64_t expected = recording_.steps.empty() ? 1 : recording_.steps.back().number + 1;
    if (step.number < expected) return bad("event " + std::to_string(step.number) + " stands behind a later one");
    if (step.number > expected) return gap(expected, step.number);
    step.at = TimePoint(at);
    if (!recording_.steps.empty() && step.at < recording_.steps.back().at)
      return bad("its time lies before the last one's");
    if (const auto sound = in_range(*event); !sound) return tl::unexpected(sound.error());
    step.event = std::move(*event);
    recording_.steps.push_back(std::move(step));
    return true;
  }

  // Indices come from the file: the fleet trusts them.
  Result<void> in_range(const Event& event) const {
    const auto engine_is_there = [this](EngineIndex e) { return e < recording_.spec.engines.size(); };
    const auto pool_is_there = [this](PoolIndex p) { return p < recording_.spec.pools.size(); };
    bool sound = true;
    if (const auto* found = std::get_if<EngineFound>(&event))
      sound = engine_is_there(found->engine) && (!found->pool || pool_is_there(*found->pool)) && found->ranks <= 1'024;
    if (const auto* sampled = std::get_if<ReplicaSampled>(&event)) sound = engine_is_there(sampled->engine);
    if (const auto* good = std::get_if<ProbeGood>(&event)) sound = engine_is_there(good->engine);
    if (const auto* bad_probe = std::get_if<ProbeBad>(&event)) sound = engine_is_there(bad_probe->engine);
    if (const auto* arrived = std::get_if<RequestArrived>(&event)) sound = pool_is_there(arrived->pool);
    if (const auto* released = std::get_if<SessionReleased>(&event)) sound = pool_is_there(released->pool);
    if (const auto* changed = std::get_if<PolicyChanged>(&event)) sound = pool_is_there(changed->pool);
    if (!sound) return bad("it names an engine or a pool that the recording does not have");
    return {};
  }

  Result<bool> gap(std::uint64_t expected, std::uint64_t found) {
    recording_.lost_after = expected - 1;
    recording_.lost = found - expected;
    return false;
  }

  Result<bool> decisions(Cursor& cursor) {
    std::uint64_t number = 0, digest = 0;
    cursor.read(number);
    cursor.read_hex(digest);
    std::vector<std::string> words;
    while (!cursor.at_end()) {
      const std::size_t before = words.size();
      cursor.read(words.emplace_back());
      if (words[before].empty()) break;  // not a text: done() tells
    }
    if (const auto done = cursor.done(); !done) return tl::unexpected(done.error());
    const std::uint64_t last = recording_.steps.empty() ? 0 : recording_.steps.back().number;
    if (number > last) return gap(last + 1, number + 1);
    if (number != last)
      return bad("decisions on event " + std::to_string(number) + " stand behind event " + std::to_string(last));
    recording_.steps.back().digest = digest;
    recording_.steps.back().decisions = std::move(words);
    return true;
  }

  Result<bool> end(Cursor& cursor) {
    cursor.read(recording_.events);
    cursor.read_hex(recording_.digest);
    if (const auto done = cursor.done(); !done) return tl::unexpected(done.error());
    const std::uint64_t last = recording_.steps.empty() ? 0 : recording_.steps.back().number;
    if (recording_.events > last) return gap(last + 1, recording_.events + 1);
    recording_.has_end = true;
    return true;
  }

  Recording recording_;
  bool open_ = false;
};

}  // namespace

Result<Recording> read_recording(std::string_view text) {
  Reader reader;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string where = "line " + std::to_string(number) + ": ";
    const std::size_t size = text.find('\n');
    if (size == text.npos) return bad(where + "it is cut off: the file ends in the middle of it");
    const auto values = Splitter(text.substr(0, size)).all();
    if (!values) return bad(where + values.error().what);
    const auto more = reader.line(*values, number);
    if (!more) return bad(where + more.error().what);
    if (!*more) break;
    text.remove_prefix(size + 1);
  }
  return reader.done();
}

}  // namespace wg::fleet
