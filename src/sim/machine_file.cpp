#include "sim/machine_file.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "config/flat_yaml.h"
#include "sim/workload.h"

namespace wg::sim {

namespace {

using Values = std::vector<std::string>;

// Each gives false if the values do not fit.
bool text(std::string& to, const Values& values) {
  if (values.size() != 1 || values[0].empty()) return false;
  to = values[0];
  return true;
}

bool number(double& to, const Values& values, double least, double most) {
  if (values.size() != 1) return false;
  double value = 0;
  const char* const end = values[0].data() + values[0].size();
  const auto [stop, error] = std::from_chars(values[0].data(), end, value);
  if (error != std::errc() || stop != end || !(value >= least) || value > most) return false;
  to = value;
  return true;
}

template <class Whole>
bool whole(Whole& to, const Values& values, double least, double most) {
  double value = 0;
  if (!number(value, values, least, most) || value != std::floor(value)) return false;
  to = static_cast<Whole>(value);
  return true;
}

bool tokens(Tokens& to, const Values& values) { return whole(to.count, values, 0, 1e9); }

// One number, or two: from, to.
bool range(TokenRange& to, const Values& values) {
  if (values.empty() || values.size() > 2) return false;
  TokenRange read;
  if (!whole(read.low, {values.front()}, 1, 1e9) || !whole(read.high, {values.back()}, 1, 1e9)) return false;
  if (read.low > read.high) return false;
  to = read;
  return true;
}

bool seconds(double& to, const Values& values) {
  if (values.size() != 1) return false;
  const auto time = duration_named(values[0]);
  if (time) to = to_seconds(*time);
  return time.has_value();
}

bool pause(AgentLoad& to, const Values& values) {
  if (values.size() != 1) return false;
  to.pause_is_mean = values[0].starts_with("exp:");
  return seconds(to.pause_s, {to.pause_is_mean ? values[0].substr(4) : values[0]});
}

bool balancer(BalancerKind& to, const Values& values) {
  const auto kind = values.size() == 1 ? balancer_named(values[0]) : std::nullopt;
  if (kind) to = *kind;
  return kind.has_value();
}

struct Key {
  std::string_view path, allowed;
  bool (*store)(Machine&, const Values&);
};
constexpr std::string_view a_time = "a time such as 30ms", a_rate = "a number above 0",
                           a_range = "tokens, or [from, to]";
const std::vector<Key>& keys() {
  static const std::vector<Key> all{
      {"base", "a preset", [](Machine&, const Values&) { return true; }},
      {"name", "a name", [](Machine& m, const Values& v) { return text(m.preset.name, v); }},
      {"model", "a name", [](Machine& m, const Values& v) { return text(m.preset.model, v); }},
      {"replicas", "1 to 999", [](Machine& m, const Values& v) { return whole(m.replicas, v, 1, 999); }},
      {"kv_tokens", "tokens", [](Machine& m, const Values& v) { return tokens(m.preset.engine.kv_tokens, v); }},
      {"block_size", "1 to 1024",
       [](Machine& m, const Values& v) { return whole(m.preset.engine.block_size, v, 1, 1024); }},
      {"max_num_seqs", "1 to 100000",
       [](Machine& m, const Values& v) { return whole(m.preset.engine.max_num_seqs, v, 1, 100'000); }},
      {"max_num_batched_tokens", "1 to 1000000",
       [](Machine& m, const Values& v) { return whole(m.preset.engine.max_num_batched_tokens, v, 1, 1'000'000); }},
      {"max_model_len", "tokens; 0: as much as the cache holds",
       [](Machine& m, const Values& v) { return tokens(m.preset.engine.max_model_len, v); }},
      {"network", a_time, [](Machine& m, const Values& v) { return seconds(m.preset.network_s, v); }},
      {"balancer", balancer_names, [](Machine& m, const Values& v) { return balancer(m.preset.balancer, v); }},
      {"cost.base", a_time, [](Machine& m, const Values& v) { return seconds(m.preset.engine.cost.base_s, v); }},
      {"cost.kv_bytes_per_token", "bytes",
       [](Machine& m, const Values& v) { return number(m.preset.engine.cost.kv_bytes_per_token, v, 0, 1e9); }},
      {"cost.kv_bytes_per_s", a_rate,
       [](Machine& m, const Values& v) { return number(m.preset.engine.cost.kv_bytes_per_s, v, 1, 1e15); }},
      {"cost.prefill_kv_share", "0 to 1",
       [](Machine& m, const Values& v) { return number(m.preset.engine.cost.prefill_kv_share, v, 0, 1); }},
      {"cost.prefill_tokens_per_s", a_rate,
       [](Machine& m, const Values& v) { return number(m.preset.engine.cost.prefill_tokens_per_s, v, 0.001, 1e9); }},
      {"cost.prefill_hidden", a_time,
       [](Machine& m, const Values& v) { return seconds(m.preset.engine.cost.prefill_hidden_s, v); }},
      {"load.head", "tokens", [](Machine& m, const Values& v) { return whole(m.preset.load.head, v, 0, 1e9); }},
      {"load.first", a_range, [](Machine& m, const Values& v) { return range(m.preset.load.first, v); }},
      {"load.added", a_range, [](Machine& m, const Values& v) { return range(m.preset.load.added, v); }},
      {"load.output", a_range, [](Machine& m, const Values& v) { return range(m.preset.load.output, v); }},
      {"load.turns", "1 to 10000",
       [](Machine& m, const Values& v) { return whole(m.preset.load.turns, v, 1, 10'000); }},
      {"load.pause", "a time, or exp:4s for a mean",
       [](Machine& m, const Values& v) { return pause(m.preset.load, v); }},
      {"load.between_sessions", a_time,
       [](Machine& m, const Values& v) { return seconds(m.preset.load.between_sessions_s, v); }},
      {"load.stagger", a_time, [](Machine& m, const Values& v) { return seconds(m.preset.load.stagger_s, v); }},
  };
  return all;
}

std::string all_paths() {
  std::string all;
  for (const Key& key : keys()) all.append(all.empty() ? "" : ", ").append(key.path);
  return all;
}

}  // namespace

Result<Machine> read_machine(const std::string& text_of_file) {
  const auto entries = config::read_flat_yaml(text_of_file);
  if (!entries) return tl::unexpected(entries.error());
  Machine machine{presets().front(), 1};
  for (const config::FlatEntry& entry : *entries) {
    if (entry.path != "base") continue;
    auto base = preset_named(entry.values.empty() ? "" : entry.values.front());
    if (!base) return fail(Fault::client, "line " + std::to_string(entry.line) + ": base: " + base.error().what);
    machine.preset = std::move(*base);
  }
  machine.preset.name = "machine";
  for (const config::FlatEntry& entry : *entries) {
    const std::string where = "line " + std::to_string(entry.line) + ": " + entry.path;
    const Key* known = nullptr;
    for (const Key& key : keys())
      if (key.path == entry.path) known = &key;
    if (!known) return fail(Fault::client, where + ": unknown key; known are " + all_paths());
    if (!known->store(machine, entry.values))
      return fail(Fault::client, where + " does not fit; allowed: " + std::string(known->allowed));
  }
  if (const auto fits = checked(machine.preset.engine); !fits) return fail(Fault::client, fits.error().what);
  return machine;
}

}  // namespace wg::sim
