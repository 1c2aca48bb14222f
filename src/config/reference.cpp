// docs/configuration.md, from the table.
#include "config/keys.h"

namespace wg::config {
namespace {

constexpr std::string_view introduction = R"(# Configuration

<!-- Made from the table in src/config/keys.cpp: change that, then run `WG_WRITE_DOCS=1 build/config_test`. -->

`warmgate serve --config FILE` reads a YAML file once, at start. `warmgate check FILE` says what is wrong with one, all of
it at once, as `FILE:LINE:COLUMN: KEY: what; allowed: ...`. Unknown keys are errors. Everything but `pools` may be left out.

)";

constexpr std::string_view example_text = R"(listen: 127.0.0.1:8080
admin: 127.0.0.1:8081
pools:
  - model: qwen3-4b
    aliases: [claude-*, gpt-4o-mini]
    routing: {policy: sticky, spill: {threshold: auto, rehome: false}}
    engines:
      - name: box1
        url: http://127.0.0.1:8000
        ranks: auto
        max_num_seqs: 32
        kv_tokens: auto
        api_key_env: BOX1_KEY
sessions: {limit: 65536, active_for: 60s, key_header: x-session-key}
limits: {body: 32MiB, headers: 32KiB, connections: 10000}
timeouts: {connect: 2s, first_byte: 600s, stream_idle: 300s, drain: 60s}
)";

// A value as it stands in the table: code, but for words in brackets, which say how it is worked out.
std::string shown_default(const Key& key) {
  if (key.required) return "required";
  if (key.fallback.empty()) return "";
  const bool words = key.fallback.size() > 2 && key.fallback.front() == '[';
  if (words) return std::string(key.fallback.substr(1, key.fallback.size() - 2));
  return '`' + std::string(key.fallback) + '`';
}

std::string row(const Key& key) {
  const bool has_children = key.kind == Kind::section || key.kind == Kind::items;
  return "| `" + std::string(key.path) + "` | " + shown_default(key) + " | " +
         (has_children && key.kind == Kind::section ? "a map" : allowed(key)) + " | " + std::string(key.meaning) +
         " |\n";
}

void append_table(std::string& text, std::string_view title, std::string_view under) {
  text += "## " + std::string(title) + "\n\n";
  if (!under.empty()) text += std::string(key_at(under).meaning) + "\n\n";
  text += "| key | default | allowed | meaning |\n|---|---|---|---|\n";
  for (const Key& key : keys()) {
    const bool top_value =
        key.path.find('.') == std::string_view::npos && key.kind != Kind::section && key.kind != Kind::items;
    const bool inside = !under.empty() && key.path.starts_with(under) && key.path.size() > under.size();
    if (under.empty() ? top_value : inside) text += row(key);
  }
  text += '\n';
}

}  // namespace

std::string_view example() { return example_text; }

std::string reference() {
  std::string text(introduction);
  text += "```yaml\n" + std::string(example_text) + "```\n\n";
  append_table(text, "Top level", "");
  for (const Key* key : keys_below(""))
    if (key->kind == Kind::section || key->kind == Kind::items) append_table(text, leaf_of(*key), key->path);
  text.pop_back();
  return text;
}

}  // namespace wg::config
