#include "config/keys.h"

#include <algorithm>
#include <array>

#include "config/accept.h"
#include "core/assert.h"

namespace wg::config {
namespace {

constexpr std::uint64_t KiB = 1ull << 10, GiB = 1ull << 30;
constexpr std::uint64_t one_ms = 1, one_day = 24ull * 3'600 * 1'000;  // durations are bounded in ms

constexpr auto u32(const Value& value) { return static_cast<std::uint32_t>(value.number); }
constexpr std::optional<std::uint32_t> auto_u32(const Value& value) {
  return value.is_auto ? std::nullopt : std::optional(static_cast<std::uint32_t>(value.number));
}

// clang-format off
constexpr std::array table{
    Key{.path = "listen", .kind = Kind::address, .fallback = "127.0.0.1:8080",
        .meaning = "Where clients connect. Port 0: any free port.",
        .store = [](Place& at, const Value& v) { at.config.listen = v.address; }},
    Key{.path = "admin", .kind = Kind::address, .fallback = "127.0.0.1:8081",
        .meaning = "Where operators connect: metrics, the admin API, the dashboard. Never the clients' address.",
        .store = [](Place& at, const Value& v) { at.config.admin = v.address; }},
    Key{.path = "threads", .kind = Kind::count, .fallback = "1", .low = 1, .high = 256,
        .meaning = "I/O loops. One relays tens of thousands of stream events a second.",
        .store = [](Place& at, const Value& v) { at.config.threads = u32(v); }},

    Key{.path = "pools", .kind = Kind::items, .required = true, .low = 1, .high = 256,
        .meaning = "The models that are served, each by the engines that hold a copy of it.",
        .store = [](Place& at, const Value&) { at.pool = &at.config.pools.emplace_back(); }},
    Key{.path = "pools[].model", .kind = Kind::text, .fallback = "[what the engines say, if there is only one pool]",
        .low = 1, .high = 256, .words = "printable text without spaces",
        .meaning = "The name clients ask for; also the pool's name in metrics and replica ids.",
        .store = [](Place& at, const Value& v) { at.pool->model = v.text; }, .acceptable = is_visible},
    Key{.path = "pools[].aliases", .kind = Kind::texts, .fallback = "[]", .low = 0, .high = 1'024,
        .words = "printable texts without spaces, up to 256 characters each; * stands for any run, ? for one character",
        .meaning = "Other names for the model. A model's own name comes before any alias, an alias without * or ? before "
                   "one with them, then the order of this file decides. A name that begins with * needs quotes.",
        .store = [](Place& at, const Value& v) { at.pool->aliases = v.texts; }, .acceptable = is_alias},
    Key{.path = "pools[].routing", .kind = Kind::section, .meaning = "How a turn finds its replica."},
    Key{.path = "pools[].routing.policy", .kind = Kind::choice, .fallback = "sticky", .words = policy::policy_names,
        .meaning = "The rule: docs/policies has a page for each.",
        .store = [](Place& at, const Value& v) { at.pool->policy = *policy::policy_named(v.text); }},
    Key{.path = "pools[].routing.mode", .kind = Kind::choice, .fallback = "latency", .words = policy::warm_mode_names,
        .meaning = "What warm trades: latency lets residents yield their seats after a quantum of turns, throughput lets "
                   "them stay until they pause, fair-tail holds no seats.",
        .store = [](Place& at, const Value& v) { at.pool->warm_mode = *policy::warm_mode_named(v.text); }},
    Key{.path = "pools[].routing.spill", .kind = Kind::section, .meaning = "When a turn leaves its busy home."},
    Key{.path = "pools[].routing.spill.threshold", .kind = Kind::count, .fallback = "auto", .or_auto = true, .low = 0,
        .high = 100'000,
        .meaning = "A turn stays while its home has at most so many requests in flight. auto: a quarter of the engine's "
                   "concurrent sequences, 8 where they are unknown.",
        .store = [](Place& at, const Value& v) { at.pool->spill_threshold = auto_u32(v); }},
    Key{.path = "pools[].routing.spill.rehome", .kind = Kind::flag, .fallback = "false",
        .meaning = "A spilled session stays where it was sent, instead of returning home with its next turn.",
        .store = [](Place& at, const Value& v) { at.pool->spill_rehome = v.flag; }},
    Key{.path = "pools[].engines", .kind = Kind::items, .required = true, .low = 1, .high = 1'024,
        .meaning = "The engines of this pool. A plain URL is short for an engine with only a url.",
        .store = [](Place& at, const Value&) { at.engine = &at.pool->engines.emplace_back(); }},
    Key{.path = "pools[].engines[].name", .kind = Kind::text, .fallback = "[engine1, engine2, ... in its pool]", .low = 1, .high = 64,
        .words = "letters, digits and . _ - : [ ]",
        .meaning = "What clients, logs and metrics see of it.",
        .store = [](Place& at, const Value& v) { at.engine->name = v.text; }, .acceptable = is_engine_name},
    Key{.path = "pools[].engines[].url", .kind = Kind::url, .required = true,
        .meaning = "Its base URL, without /v1.",
        .store = [](Place& at, const Value& v) { at.engine->url = v.url; }},
    Key{.path = "pools[].engines[].ranks", .kind = Kind::count, .fallback = "auto", .or_auto = true, .low = 1, .high = 1'024,
        .meaning = "Data-parallel ranks behind the URL. auto: as many as its metrics show.",
        .store = [](Place& at, const Value& v) { at.engine->ranks = auto_u32(v); }},
    Key{.path = "pools[].engines[].max_num_seqs", .kind = Kind::count, .fallback = "auto", .or_auto = true, .low = 1,
        .high = 1'000'000,
        .meaning = "Sequences that one rank runs at once (vLLM: --max-num-seqs, which it does not publish). auto: what the "
                   "engine tells, if it does.",
        .store = [](Place& at, const Value& v) { at.engine->max_num_seqs = auto_u32(v); }},
    Key{.path = "pools[].engines[].kv_tokens", .kind = Kind::count, .fallback = "auto", .or_auto = true, .low = 1,
        .high = 1'000'000'000'000,
        .meaning = "KV cache of one rank, in tokens. auto: what the engine's metrics say.",
        .store = [](Place& at, const Value& v) {
          at.engine->kv_tokens = v.is_auto ? std::nullopt : std::optional(Tokens{static_cast<std::int64_t>(v.number)});
        }},
    Key{.path = "pools[].engines[].api_key_env", .kind = Kind::text, .fallback = "[none: the client's own key is passed on]",
        .low = 1, .high = 128, .words = "the name of an environment variable: letters, digits and _",
        .meaning = "The environment variable that holds the engine's API key. The key takes the place of the client's.",
        .store = [](Place& at, const Value& v) { at.engine->api_key_env = v.text; }, .acceptable = is_variable_name},

    Key{.path = "admission", .kind = Kind::section, .meaning = "Whether load may refuse anybody; by itself it does not."},
    Key{.path = "admission.max_wait", .kind = Kind::duration, .fallback = "0s", .low = 0, .high = one_day,
        .meaning = "A conversation that has not begun gets 503 with Retry-After when it has waited so long for a seat "
                   "(policy warm). 0s: it waits on. One that has begun is never refused.",
        .store = [](Place& at, const Value& v) { at.config.admission.max_wait = v.duration; }},

    Key{.path = "sessions", .kind = Kind::section, .meaning = "What is remembered of conversations."},
    Key{.path = "sessions.limit", .kind = Kind::count, .fallback = "65536", .low = 1, .high = 16'777'216,
        .meaning = "Sessions remembered at most, and as many responses (`previous_response_id`). The longest unused go first, "
                   "those of a single turn before the others.",
        .store = [](Place& at, const Value& v) { at.config.sessions.limit = v.number; }},
    Key{.path = "sessions.active_for", .kind = Kind::duration, .fallback = "60s", .low = one_ms, .high = one_day,
        .meaning = "A session counts as active so long after its last turn has ended.",
        .store = [](Place& at, const Value& v) { at.config.sessions.active_for = v.duration; }},
    Key{.path = "sessions.key_header", .kind = Kind::text, .fallback = "x-session-key", .low = 1, .high = 64,
        .words = "a header's name; not one that carries credentials, framing or a request's id",
        .meaning = "A header whose value names the session, looked at before those that the known clients send.",
        .store = [](Place& at, const Value& v) { at.config.sessions.key_header = v.text; }, .acceptable = is_session_header},

    Key{.path = "limits", .kind = Kind::section, .meaning = "What is too much."},
    Key{.path = "limits.body", .kind = Kind::bytes, .fallback = "32MiB", .low = KiB, .high = 4 * GiB,
        .meaning = "A request's body; larger ones get 413.",
        .store = [](Place& at, const Value& v) { at.config.limits.body = v.number; }},
    Key{.path = "limits.bodies", .kind = Kind::bytes, .fallback = "auto", .or_auto = true, .low = KiB, .high = 1'024 * GiB,
        .meaning = "The bodies of all requests together; what would go beyond it gets 503. auto: a quarter of the machine's "
                   "memory, or half of what the process may still take if it is limited.",
        .store = [](Place& at, const Value& v) {
          at.config.limits.bodies = v.is_auto ? std::nullopt : std::optional(v.number);
        }},
    Key{.path = "limits.headers", .kind = Kind::bytes, .fallback = "32KiB", .low = KiB, .high = 1'024 * KiB,
        .meaning = "The head of a request or an answer.",
        .store = [](Place& at, const Value& v) { at.config.limits.headers = v.number; }},
    Key{.path = "limits.connections", .kind = Kind::count, .fallback = "10000", .low = 1, .high = 1'000'000,
        .meaning = "Client connections at once; further ones are refused.",
        .store = [](Place& at, const Value& v) { at.config.limits.connections = u32(v); }},

    Key{.path = "timeouts", .kind = Kind::section, .meaning = "How long to wait; all but drain are for silence, not for the whole."},
    Key{.path = "timeouts.connect", .kind = Kind::duration, .fallback = "2s", .low = one_ms, .high = one_day,
        .meaning = "For an engine to take the connection.",
        .store = [](Place& at, const Value& v) { at.config.timeouts.connect = v.duration; }},
    Key{.path = "timeouts.first_byte", .kind = Kind::duration, .fallback = "600s", .low = one_ms, .high = one_day,
        .meaning = "For an engine's first byte: its queue and the whole prefill lie before it.",
        .store = [](Place& at, const Value& v) { at.config.timeouts.first_byte = v.duration; }},
    Key{.path = "timeouts.stream_idle", .kind = Kind::duration, .fallback = "300s", .low = one_ms, .high = one_day,
        .meaning = "Between two pieces of an answer.",
        .store = [](Place& at, const Value& v) { at.config.timeouts.stream_idle = v.duration; }},
    Key{.path = "timeouts.drain", .kind = Kind::duration, .fallback = "60s", .low = 0, .high = one_day,
        .meaning = "After SIGTERM, for requests under way to end.",
        .store = [](Place& at, const Value& v) { at.config.timeouts.drain = v.duration; }},
    Key{.path = "timeouts.request_head", .kind = Kind::duration, .fallback = "30s", .low = one_ms, .high = one_day,
        .meaning = "For a client's whole head, from its first byte.",
        .store = [](Place& at, const Value& v) { at.config.timeouts.request_head = v.duration; }},
    Key{.path = "timeouts.request_body", .kind = Kind::duration, .fallback = "60s", .low = one_ms, .high = one_day,
        .meaning = "Between two pieces of a client's body.",
        .store = [](Place& at, const Value& v) { at.config.timeouts.request_body = v.duration; }},
    Key{.path = "timeouts.keep_alive", .kind = Kind::duration, .fallback = "75s", .low = one_ms, .high = one_day,
        .meaning = "A client's connection between two requests.",
        .store = [](Place& at, const Value& v) { at.config.timeouts.keep_alive = v.duration; }},
    Key{.path = "timeouts.upstream_keep_alive", .kind = Kind::duration, .fallback = "4s", .low = 0, .high = one_day,
        .meaning = "An idle connection to an engine. Shorter than the engine's own: vLLM and llama.cpp close after 5s.",
        .store = [](Place& at, const Value& v) { at.config.timeouts.upstream_keep_alive = v.duration; }},

    Key{.path = "wait", .kind = Kind::section, .meaning = "What a client sees while it waits."},
    Key{.path = "wait.commit_after", .kind = Kind::duration, .fallback = "10s", .low = one_ms, .high = one_day,
        .meaning = "A streamed request that waits longer gets its 200 and headers, then pings.",
        .store = [](Place& at, const Value& v) { at.config.wait.commit_after = v.duration; }},
    Key{.path = "wait.ping_every", .kind = Kind::duration, .fallback = "10s", .low = one_ms, .high = one_day,
        .meaning = "Between two pings, also while an engine is silent in mid-stream.",
        .store = [](Place& at, const Value& v) { at.config.wait.ping_every = v.duration; }},

    Key{.path = "edits", .kind = Kind::section, .meaning = "What is changed in requests; with all off, bodies pass byte for byte."},
    Key{.path = "edits.model", .kind = Kind::flag, .fallback = "true",
        .meaning = "An alias is replaced by the engine's name for the model.",
        .store = [](Place& at, const Value& v) { at.config.edits.model = v.flag; }},
    Key{.path = "edits.include_usage", .kind = Kind::flag, .fallback = "true",
        .meaning = "stream_options.include_usage is added to OpenAI streams without it; the chunk it brings is taken out again.",
        .store = [](Place& at, const Value& v) { at.config.edits.include_usage = v.flag; }},
    Key{.path = "edits.billing_line", .kind = Kind::flag, .fallback = "true",
        .meaning = "Claude Code's billing line, different in each request, is dropped towards engines that do not do so themselves.",
        .store = [](Place& at, const Value& v) { at.config.edits.billing_line = v.flag; }},

    Key{.path = "log", .kind = Kind::section, .meaning = "One line per request; never bodies, keys or session values."},
    Key{.path = "log.format", .kind = Kind::choice, .fallback = "text", .words = "text, json", .meaning = "The form of a line.",
        .store = [](Place& at, const Value& v) { at.config.log.format = v.text; }},
    Key{.path = "log.file", .kind = Kind::text, .fallback = "[standard error]", .low = 1, .high = 4'095, .words = "a file's path",
        .meaning = "Where lines are appended.", .store = [](Place& at, const Value& v) { at.config.log.file = v.text; }},
    Key{.path = "log.level", .kind = Kind::choice, .fallback = "info", .words = "debug, info, warning, error",
        .meaning = "The least important lines still written; requests are info.",
        .store = [](Place& at, const Value& v) { at.config.log.level = v.text; }},

    Key{.path = "record", .kind = Kind::section, .meaning = "What is kept to be played again."},
    Key{.path = "record.decisions", .kind = Kind::text, .fallback = "[none]", .low = 1, .high = 4'095, .words = "a file's path",
        .meaning = "Where everything that the routing sees and decides is recorded, for `warmgate replay`. A file that is "
                   "there is begun anew. No bodies; sessions only as hashes.",
        .store = [](Place& at, const Value& v) { at.config.record_decisions = v.text; }},

    Key{.path = "paths", .kind = Kind::texts, .fallback = "[]", .low = 0, .high = 256,
        .words = "paths that begin with /, without query, for POST; or GET and a space before one",
        .meaning = "Paths forwarded beyond the built-in ones.",
        .store = [](Place& at, const Value& v) { at.config.paths = v.texts; }, .acceptable = is_forwarded_path},
};
// clang-format on

}  // namespace

std::span<const Key> keys() { return table; }

const Key& key_at(std::string_view path) {
  const auto found = std::find_if(table.begin(), table.end(), [path](const Key& key) { return key.path == path; });
  if (found == table.end()) WG_FATAL("a configuration key is used that is not in the table");
  return *found;
}

std::vector<const Key*> keys_below(std::string_view path) {
  std::vector<const Key*> below;
  for (const Key& key : table) {
    std::string_view rest = key.path;
    if (!path.empty()) {
      if (!rest.starts_with(path) || rest.size() <= path.size() || rest[path.size()] != '.') continue;
      rest.remove_prefix(path.size() + 1);
    }
    if (rest.find('.') == std::string_view::npos) below.push_back(&key);
  }
  return below;
}

std::string_view leaf_of(const Key& key) { return key.path.substr(key.path.rfind('.') + 1); }

}  // namespace wg::config
