#include <charconv>
#include <type_traits>

#include "fleet/recorded_fields.h"
#include "fleet/recording.h"

namespace wg::fleet {
namespace {

// One line under way: values behind each other, with commas between.
class Line {
 public:
  explicit Line(std::string& out) : out_(out) { out_ += '['; }
  ~Line() { out_ += "]\n"; }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void add(bool value) { plain(value ? "true" : "false"); }
  void add(double value) { number(value); }
  template <class T>
    requires std::is_integral_v<T>
  void add(T value) {
    number(value);
  }
  template <class T>
    requires std::is_enum_v<T>
  void add(T value) {
    number(static_cast<int>(value));
  }
  void add(Tokens value) { number(value.count); }
  void add(Duration value) { number(value.count()); }
  void add(const SessionKey& key) {
    if (!key) return plain("0");
    quoted(hex(key.high) + hex(key.low));
  }
  void add(std::string_view text) { quoted(text); }
  void add(const char* text) { quoted(text); }
  template <class T>
  void add(const std::optional<T>& value) {
    if (value) return add(*value);
    plain("null");
  }
  template <class T>
  void add_fields(const T& recorded) {
    std::apply([this](const auto&... field) { (add(field), ...); }, fields_of(recorded));
  }

  static std::string hex(std::uint64_t value) {
    char text[16];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value, 16);
    return std::string(static_cast<std::size_t>(text + sizeof text - end), '0').append(text, end);
  }

 private:
  void plain(std::string_view text) {
    if (out_.back() != '[') out_ += ',';
    out_ += text;
  }
  template <class T>
  void number(T value) {
    char text[40];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);  // the shortest that reads back the same
    plain({text, static_cast<std::size_t>(end - text)});
  }
  void quoted(std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    plain("\"");
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < ' ')
        out_.append("\\u00").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
      else if (c == '"' || c == '\\')
        out_.append(1, '\\').append(1, c);
      else
        out_ += c;
    }
    out_ += '"';
  }

  std::string& out_;
};

struct Words {
  std::string operator()(const Dispatch& d) const {
    return "dispatch " + std::to_string(d.request) + " to replica " + std::to_string(d.replica) + ", " +
           std::string(policy::name_of(d.route)) + (d.same_connection_rule ? ", on a fresh connection" : "");
  }
  std::string operator()(const Reject& r) const {
    return "reject " + std::to_string(r.request) + " with " + std::to_string(r.status) + ", retry after " +
           std::to_string(r.retry_after_s) + " s: " + r.why + (r.pass_upstream_answer ? " (the engine's answer)" : "");
  }
  std::string operator()(const ProbeEvery& p) const {
    return "probe engine " + std::to_string(p.engine) + " every " + std::to_string(p.interval.count()) + " us";
  }
  std::string operator()(const ProbeNow& p) const { return "probe engine " + std::to_string(p.engine) + " now"; }
  std::string operator()(const Note& n) const {
    std::string words = "note " + std::to_string(static_cast<int>(n.what)) + " on request " +
                        std::to_string(n.request) + ", engine " + std::to_string(n.engine) + ": " + n.rule;
    for (const policy::Candidate& c : n.candidates)
      words += (&c == &n.candidates.front() ? "; of replicas " : ", ") + std::to_string(c.replica);
    return words;
  }
  template <class Other>
  std::string operator()(const Other&) const {
    return "another command";
  }
};

}  // namespace

std::string words_of(const Command& command) { return std::visit(Words(), command); }

std::string recording_head(const Spec& spec) {
  std::string out;
  {
    Line line(out);
    line.add("warmgate-recording");
    line.add(recording_version);
  }
  {
    Line line(out);
    line.add("fleet");
    line.add_fields(spec);
  }
  for (const PoolSpec& pool : spec.pools) {
    Line line(out);
    line.add(recorded_name(pool));
    line.add_fields(pool);
  }
  for (const EngineSpec& engine : spec.engines) {
    Line line(out);
    line.add(recorded_name(engine));
    line.add_fields(engine);
  }
  return out;
}

void append_event(std::string& out, std::uint64_t number, TimePoint at, const Event& event) {
  Line line(out);
  line.add(number);
  line.add(at.time_since_epoch());
  std::visit(
      [&line](const auto& its) {
        line.add(recorded_name(its));
        line.add_fields(its);
      },
      event);
}

void append_decisions(std::string& out, std::uint64_t number, std::uint64_t digest, const Commands& commands) {
  Line line(out);
  line.add("=");
  line.add(number);
  line.add(Line::hex(digest));
  for (const Command& command : commands) line.add(words_of(command));
}

std::string recording_end(std::uint64_t events, std::uint64_t digest) {
  std::string out;
  {
    Line line(out);
    line.add("end");
    line.add(events);
    line.add(Line::hex(digest));
  }
  return out;
}

}  // namespace wg::fleet
