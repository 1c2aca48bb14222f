// A recording's lines in the order in which they must stand.
#include "fleet/recorded_values.h"
#include "fleet/recording.h"

namespace wg::fleet {
namespace {

tl::unexpected<Error> bad(std::string what) { return fail(Fault::client, std::move(what)); }

template <std::size_t I = 0>
Result<Event> event_named(const std::string& name, ValueCursor& values) {
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
  Result<bool> line(const std::vector<RecordedValue>& values, std::size_t number) {
    const std::string& first = values.front().text;
    if (!open_) return head(values);
    if (!values.front().quoted) return event(values, number);
    ValueCursor cursor(values, 1);
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
  Result<bool> head(const std::vector<RecordedValue>& values) {
    if (values.size() != 2 || values[0].text != "warmgate-recording") return bad("this is no recording of warmgate");
    if (values[1].text != std::to_string(recording_version))
      return bad("a recording of version " + values[1].text + "; this program reads version " +
                 std::to_string(recording_version));
    open_ = true;
    return true;
  }

  Result<bool> event(const std::vector<RecordedValue>& values, std::size_t line) {
    RecordedStep step;
    step.line = line;
    Duration at{};
    std::string name;
    ValueCursor cursor(values, 0);
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

  Result<bool> decisions(ValueCursor& cursor) {
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

  Result<bool> end(ValueCursor& cursor) {
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
    const auto values = values_of(text.substr(0, size));
    if (!values) return bad(where + values.error().what);
    const auto more = reader.line(*values, number);
    if (!more) return bad(where + more.error().what);
    if (!*more) break;
    text.remove_prefix(size + 1);
  }
  return reader.done();
}

}  // namespace wg::fleet
