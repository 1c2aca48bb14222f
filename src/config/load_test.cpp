#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "config/config.h"
#include "config/keys.h"

namespace wg::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> complaints(const Loaded& loaded) {
  std::vector<std::string> lines;
  for (const Problem& problem : loaded.problems) lines.push_back(format(problem, "f"));
  return lines;
}

std::vector<std::string> complaints(const std::string& yaml) { return complaints(load_text(yaml, "f")); }

// The smallest good file, with more behind it.
std::string with(const std::string& more) { return "pools: [{model: m, engines: [http://h:1]}]\n" + more; }

TEST(Load, DesignExample) {
  setenv("BOX1_KEY", "sk-test", 1);
  const Loaded loaded = load_text(std::string(example()), "f");
  EXPECT_THAT(complaints(loaded), IsEmpty());
  const Config& config = loaded.config;
  EXPECT_EQ(config.listen.text(), "127.0.0.1:8080");
  EXPECT_EQ(config.admin.text(), "127.0.0.1:8081");
  ASSERT_EQ(config.pools.size(), 1u);
  const Pool& pool = config.pools[0];
  EXPECT_EQ(pool.model, "qwen3-4b");
  EXPECT_THAT(pool.aliases, ElementsAre("claude-*", "gpt-4o-mini"));
  EXPECT_EQ(pool.policy, policy::PolicyName::sticky);
  EXPECT_FALSE(pool.spill_threshold);
  EXPECT_FALSE(pool.spill_rehome);
  ASSERT_EQ(pool.engines.size(), 1u);
  const Engine& engine = pool.engines[0];
  EXPECT_EQ(engine.name, "box1");
  EXPECT_EQ(engine.url.text(), "http://127.0.0.1:8000");
  EXPECT_FALSE(engine.ranks);
  EXPECT_EQ(engine.max_num_seqs, 32u);
  EXPECT_FALSE(engine.kv_tokens);
  EXPECT_EQ(engine.api_key_env, "BOX1_KEY");
  EXPECT_EQ(engine.api_key, "sk-test");
}

TEST(Load, EveryKey) {
  const Loaded loaded = load_text(R"(
listen: ":9000"
admin: "[::1]:9001"
threads: 4
pools:
  - model: a
    routing: {policy: off, spill: {threshold: 0, rehome: yes}}
    engines:
      - {name: e1, url: "http://h:1/x/", ranks: 4, max_num_seqs: auto, kv_tokens: 34000}
      - http://h:2
  - {model: b, routing: {policy: round-robin}, engines: [{url: http://h:3}]}
sessions: {limit: 10, active_for: 5m, key_header: X-My-Session}
limits: {body: 1GiB, bodies: 8GiB, headers: 64KiB, connections: 5}
timeouts: {connect: 1ms, first_byte: 2s, stream_idle: 3s, drain: 0s, request_head: 4s, request_body: 5s, keep_alive: 6s, upstream_keep_alive: 1s}
wait: {commit_after: 7s, ping_every: 8s}
edits: {model: false, include_usage: false, billing_line: false}
log: {format: json, file: /var/log/x.log, level: warning}
paths: [/v1/audio/speech, GET /v1/things]
)",
                                  "f");
  EXPECT_THAT(complaints(loaded), IsEmpty());
  EXPECT_TRUE(loaded.ok());
  const Config& config = loaded.config;
  EXPECT_EQ(config.listen.text(), "0.0.0.0:9000");
  EXPECT_EQ(config.admin.text(), "[::1]:9001");
  EXPECT_EQ(config.threads, 4u);
  ASSERT_EQ(config.pools.size(), 2u);
  EXPECT_EQ(config.pools[0].policy, policy::PolicyName::off);
  EXPECT_EQ(config.pools[0].spill_threshold, 0u);
  EXPECT_TRUE(config.pools[0].spill_rehome);
  ASSERT_EQ(config.pools[0].engines.size(), 2u);
  EXPECT_EQ(config.pools[0].engines[0].url.text(), "http://h:1/x");
  EXPECT_EQ(config.pools[0].engines[0].ranks, 4u);
  EXPECT_FALSE(config.pools[0].engines[0].max_num_seqs);
  EXPECT_EQ(config.pools[0].engines[0].kv_tokens, Tokens{34000});
  EXPECT_EQ(config.pools[0].engines[1].name, "engine2");
  EXPECT_EQ(config.pools[1].policy, policy::PolicyName::round_robin);
  EXPECT_EQ(config.sessions.limit, 10u);
  EXPECT_EQ(config.sessions.active_for, Duration(5min));
  EXPECT_EQ(config.sessions.key_header, "x-my-session");
  EXPECT_EQ(config.limits.body, 1ull << 30);
  EXPECT_EQ(config.limits.bodies, 8ull << 30);
  EXPECT_EQ(config.limits.headers, 65536u);
  EXPECT_EQ(config.limits.connections, 5u);
  EXPECT_EQ(config.timeouts.connect, Duration(1ms));
  EXPECT_EQ(config.timeouts.first_byte, Duration(2s));
  EXPECT_EQ(config.timeouts.stream_idle, Duration(3s));
  EXPECT_EQ(config.timeouts.drain, Duration(0));
  EXPECT_EQ(config.timeouts.request_head, Duration(4s));
  EXPECT_EQ(config.timeouts.request_body, Duration(5s));
  EXPECT_EQ(config.timeouts.keep_alive, Duration(6s));
  EXPECT_EQ(config.timeouts.upstream_keep_alive, Duration(1s));
  EXPECT_EQ(config.wait.commit_after, Duration(7s));
  EXPECT_EQ(config.wait.ping_every, Duration(8s));
  EXPECT_FALSE(config.edits.model || config.edits.include_usage || config.edits.billing_line);
  EXPECT_EQ(config.log.format, "json");
  EXPECT_EQ(config.log.file, "/var/log/x.log");
  EXPECT_EQ(config.log.level, "warning");
  EXPECT_THAT(config.paths, ElementsAre("/v1/audio/speech", "GET /v1/things"));
}

// ---- one thing wrong ----------------------------------------------------------------------------------------------

// What the text in the table stands in: the whole file, what follows a good pool, or the inside of a pool.
enum class Around { nothing, rest, pool };

struct Wrong {
  const char* name;
  Around around;
  const char* yaml;
  const char* line;  // part of the only complaint
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

std::string file_of(const Wrong& wrong) {
  switch (wrong.around) {
    case Around::rest:
      return with(wrong.yaml);
    case Around::pool:
      return std::string("pools:\n  - model: m\n") + wrong.yaml;
    case Around::nothing:
      break;
  }
  return wrong.yaml;
}

class OneThingWrong : public testing::TestWithParam<Wrong> {};

TEST_P(OneThingWrong, IsSaid) {
  unsetenv("WG_TEST_UNSET");
  setenv("WG_TEST_EMPTY", "", 1);
  setenv("WG_TEST_BAD", "secret\n", 1);
  const std::vector<std::string> lines = complaints(file_of(GetParam()));
  ASSERT_EQ(lines.size(), 1u) << testing::PrintToString(lines);
  EXPECT_THAT(lines[0], HasSubstr(GetParam().line));
  EXPECT_THAT(lines[0], Not(HasSubstr("secret")));
  EXPECT_THAT(lines[0], Not(HasSubstr("\n")));
}

constexpr Wrong wrongs[] = {
    {"misspelt_key", Around::nothing,
     "pools:\n  - model: m\n    engines: [http://h:1]\n    routing:\n      polcy: off\n",
     R"(f:5:7: pools[0].routing.polcy: unknown key; did you mean "policy"? allowed: policy, mode, spill)"},
    {"unknown_key", Around::rest, "colour: red", "f:2:1: colour: unknown key; allowed: listen, admin, threads, pools"},
    {"misplaced_key", Around::rest, "max_num_seqs: 3", "it belongs to pools[].engines[]; allowed: listen"},
    {"key_given_twice", Around::rest, "threads: 1\nthreads: 2", "f:3:1: threads: is given twice; first at line 2"},
    {"pools_given_twice", Around::rest, "pools: []", "pools: is given twice"},
    {"key_is_a_list", Around::rest, "[a, b]: 1", "a key must be a plain word"},
    {"hostile_key", Around::rest, "\"a\\nb\\e[31m\": 1", "f:2:1: a?b?[31m: unknown key"},
    {"not_a_number", Around::rest, "threads: many",
     R"(f:2:10: threads: "many" is not a whole number; allowed: a whole number from 1 to 256)"},
    {"number_too_small", Around::rest, "threads: 0",
     "threads: 0 is out of range; allowed: a whole number from 1 to 256"},
    {"number_too_large", Around::rest, "threads: 99999999999999999999", "out of range"},
    {"negative", Around::rest, "threads: -1", R"("-1" is not a whole number)"},
    {"fraction", Around::rest, "threads: 1.5", "not a whole number"},
    {"empty_value", Around::rest, "threads:", "f:2:1: threads: is empty; allowed: a whole number"},
    {"null_value", Around::rest, "threads: ~", "threads: is empty"},
    {"map_for_value", Around::rest, "threads: {a: 1}", "threads: is a map; allowed: a whole number"},
    {"list_for_value", Around::rest, "listen: [a]", "listen: is a list; allowed: HOST:PORT"},
    {"value_for_map", Around::rest, "limits: 5",
     "limits: is a single value; allowed: a map with body, bodies, headers, connections"},
    {"list_for_map", Around::rest, "limits: [1]", "limits: is a list; allowed: a map with body"},
    {"value_for_list", Around::rest, "paths: /x", "paths: is a single value; allowed: a list"},
    {"no_unit", Around::rest, "timeouts: {connect: 2}",
     R"(timeouts.connect: "2" has no unit; allowed: a duration such as 250ms, 10s, 5m, 2h, from 1ms to 24h)"},
    {"no_duration", Around::rest, "timeouts: {connect: soon}", R"("soon" is not a duration)"},
    {"duration_too_long", Around::rest, "timeouts: {connect: 25h}", "25h is out of range"},
    {"size_unit", Around::rest, "limits: {body: 32MB}",
     R"(limits.body: "32MB" is not a size; allowed: a size such as 4096, 32KiB, 32MiB, 1GiB, from 1KiB to 4GiB)"},
    {"size_too_large", Around::rest, "limits: {body: 5GiB}", "5GiB is out of range"},
    {"flag", Around::rest, "edits: {model: maybe}", R"(edits.model: "maybe" is neither true nor false)"},
    {"policy", Around::pool, "    routing: {policy: stiky}\n    engines: [http://h:1]\n",
     R"(f:3:23: pools[0].routing.policy: "stiky" is unknown; did you mean "sticky"?; allowed: off, round-robin, least, hash, sticky, warm)"},
    {"policy_not_there", Around::pool, "    routing: {policy: cleverest}\n    engines: [http://h:1]\n",
     R"("cleverest" is unknown; allowed: off)"},
    {"log_level", Around::rest, "log: {level: warn}", R"("warn" is unknown; allowed: debug, info, warning, error)"},
    {"session_header", Around::rest, "sessions: {key_header: Authorization}",
     "sessions.key_header: the text does not fit; allowed: a header's name"},
    {"session_header_no_token", Around::rest, "sessions: {key_header: 'a b'}",
     "sessions.key_header: the text does not fit"},
    {"path_without_slash", Around::rest, "paths: [/ok, v1/x]",
     R"(f:2:14: paths[1]: "v1/x" does not fit; allowed: a list of up to 256 paths)"},
    {"path_with_dots", Around::rest, "paths: [/a/../b]", "paths[0]"},
    {"path_is_a_map", Around::rest, "paths: [{a: b}]", "paths[0]: is a map"},
    {"no_pools", Around::nothing, "threads: 1\n",
     "f:1:1: pools: is missing; allowed: a list of 1 to 256 maps with model, aliases, routing, engines"},
    {"empty_file", Around::nothing, "", "f:1:1: pools: is missing"},
    {"empty_pools", Around::nothing, "pools: []\n", "f:1:8: pools: is an empty list"},
    {"null_pools", Around::nothing, "pools:\n", "f:1:1: pools: is empty"},
    {"pool_is_a_word", Around::nothing, "pools: [m]\n",
     "pools[0]: is a single value; allowed: a list of 1 to 256 maps"},
    {"no_engines", Around::nothing, "pools:\n  - model: m\n", "f:2:5: pools[0].engines: is missing"},
    {"empty_engines", Around::pool, "    engines: []\n", "f:3:14: pools[0].engines: is an empty list"},
    {"engine_without_url", Around::pool, "    engines: [{name: e}]\n",
     "pools[0].engines[0].url: is missing; allowed: http://HOST"},
    {"engine_is_a_list", Around::pool, "    engines: [[a]]\n", "pools[0].engines[0]: is a list"},
    {"https", Around::pool, "    engines: [https://h:1]\n",
     "f:3:15: pools[0].engines[0].url: https towards engines is not supported"},
    {"password_in_url", Around::pool, "    engines: [\"http://u:secret@h:1\"]\n", "user and password do not belong"},
    {"engine_name", Around::pool, "    engines: [{name: a/b, url: http://h:1}]\n",
     "pools[0].engines[0].name: the text does not fit; allowed: letters"},
    {"same_url", Around::pool, "    engines: [http://h:1, http://H:1/]\n",
     "f:3:27: pools[0].engines[1].url: is the url of pools[0].engines[0] too"},
    {"same_name", Around::pool, "    engines: [{name: a, url: http://h:1}, {name: a, url: http://h:2}]\n",
     R"(pools[0].engines[1].name: the name "a" is that of pools[0].engines[0] too)"},
    {"same_name_by_default", Around::pool, "    engines: [{name: engine2, url: http://h:1}, http://h:2]\n",
     R"(pools[0].engines[1].url: the name "engine2" is that of)"},
    {"same_url_in_two_pools", Around::nothing,
     "pools: [{model: a, engines: [http://h:1]}, {model: b, engines: [http://h:1]}]\n",
     "f:1:65: warning: pools[1].engines[0].url: is the url of pools[0].engines[0] too"},
    {"same_pool", Around::nothing, "pools: [{model: a, engines: [http://h:1]}, {model: a, engines: [http://h:2]}]\n",
     "f:1:52: pools[1].model: is the name of pools[0] too"},
    {"pools_without_names", Around::nothing, "pools: [{engines: [http://h:1]}, {model: b, engines: [http://h:2]}]\n",
     "f:1:9: pools[0].model: is missing; only a single pool"},
    {"same_alias", Around::nothing,
     "pools: [{model: a, aliases: [x], engines: [http://h:1]}, {model: b, aliases: [y, x], engines: [http://h:2]}]\n",
     R"(pools[1].aliases[1]: "x" is pools[0].aliases[0] too)"},
    {"alias_twice", Around::nothing, "pools: [{model: a, aliases: [x, x], engines: [http://h:1]}]\n",
     R"(warning: pools[0].aliases[1]: "x" stands there twice)"},
    {"alias_is_a_model", Around::nothing,
     "pools: [{model: a, aliases: [b], engines: [http://h:1]}, {model: b, engines: [http://h:2]}]\n",
     R"(pools[0].aliases[0]: "b" is the model of pools[1])"},
    {"alias_is_own_model", Around::nothing, "pools: [{model: a, aliases: [a], engines: [http://h:1]}]\n",
     "warning: pools[0].aliases[0]: \"a\" is the model of pools[0] itself"},
    {"aliases_overlap", Around::nothing,
     "pools: [{model: a, aliases: [claude-*], engines: [http://h:1]}, {model: b, aliases: [\"*-opus\"], engines: "
     "[http://h:2]}]\n",
     R"(warning: pools[1].aliases[0]: "*-opus" and pools[0].aliases[0] "claude-*" have names in common)"},
    {"same_addresses", Around::rest, "listen: 127.0.0.1:8081",
     "f:2:9: listen: listen (127.0.0.1:8081) and admin (127.0.0.1:8081) are the same address"},
    {"any_address", Around::rest, "listen: :8080\nadmin: 127.0.0.1:8080",
     "f:3:8: admin: listen (0.0.0.0:8080) and admin"},
    {"localhost", Around::rest, "listen: localhost:8081", "are the same address"},
    {"own_address_as_engine", Around::pool, "    engines: [http://localhost:8080]\n",
     "pools[0].engines[0].url: is this gateway's own address"},
    {"url_with_v1", Around::pool, "    engines: [http://h:1/v1]\n", "warning: pools[0].engines[0].url: ends with /v1"},
    {"keep_alive", Around::rest, "timeouts: {upstream_keep_alive: 5s}",
     "warning: timeouts.upstream_keep_alive: vLLM and llama.cpp close"},
    {"key_not_set", Around::pool, "    engines: [{url: http://h:1, api_key_env: WG_TEST_UNSET}]\n",
     "f:3:46: pools[0].engines[0].api_key_env: the environment variable WG_TEST_UNSET is not set"},
    {"key_empty", Around::pool, "    engines: [{url: http://h:1, api_key_env: WG_TEST_EMPTY}]\n",
     "WG_TEST_EMPTY is empty"},
    {"key_with_line_end", Around::pool, "    engines: [{url: http://h:1, api_key_env: WG_TEST_BAD}]\n",
     "WG_TEST_BAD holds characters"},
    {"key_itself", Around::pool, "    engines: [{url: http://h:1, api_key_env: sk-secret}]\n",
     "pools[0].engines[0].api_key_env: the text does not fit; allowed: the name of an environment variable"},
    {"syntax", Around::nothing, "pools:\n  - model: [m\n", "f:3:1: YAML: "},
    {"syntax_star", Around::nothing, "pools:\n  - aliases: [*]\n", "f:2:"},
    {"unknown_anchor", Around::nothing, "pools:\n  - aliases: [*gpt]\n",
     "a value that begins with * or & needs quotes"},
    {"top_is_a_list", Around::nothing, "- a\n", "f:1:1: is a list; allowed: a map with listen"},
    {"top_is_a_word", Around::nothing, "hello\n", "f:1:1: is a single value; allowed: a map with listen"},
    {"two_documents", Around::rest, "---\nthreads: 2\n", "holds more than one YAML document; allowed: one"},
};

INSTANTIATE_TEST_SUITE_P(Load, OneThingWrong, testing::ValuesIn(wrongs),
                         [](const auto& one) { return std::string(one.param.name); });

// ---- the whole ----------------------------------------------------------------------------------------------------

TEST(Load, AllProblemsAtOnceInTheOrderOfTheFile) {
  const std::vector<std::string> lines = complaints(
      "threads: 0\npools:\n  - modl: m\n    engines:\n      - {url: ftp://x, rank: 3}\n      - {name: a b, url: "
      "http://h:1}\nlimits: {bdy: 1}\n");
  ASSERT_EQ(lines.size(), 6u) << testing::PrintToString(lines);
  EXPECT_THAT(lines[0], HasSubstr("f:1:10: threads"));
  EXPECT_THAT(lines[1], HasSubstr("pools[0].modl"));
  EXPECT_THAT(lines[2], HasSubstr("pools[0].engines[0].url"));
  EXPECT_THAT(lines[3], HasSubstr("did you mean \"ranks\""));
  EXPECT_THAT(lines[4], HasSubstr("pools[0].engines[1].name"));
  EXPECT_THAT(lines[5], HasSubstr("did you mean \"body\""));
}

TEST(Load, WarningsAloneAreFine) {
  const Loaded loaded = load_text(with("timeouts: {upstream_keep_alive: 6s}"), "f");
  EXPECT_EQ(loaded.problems.size(), 1u);
  EXPECT_TRUE(loaded.ok());
}

TEST(Load, TheOnlyPoolNeedsNoName) {
  const Loaded loaded = load_text("pools: [{engines: [http://h:1]}]", "f");
  EXPECT_THAT(complaints(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.pools.at(0).model, "");
}

TEST(Load, AnyFreePortMayBeAskedForTwice) {
  EXPECT_THAT(complaints(with("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0")), IsEmpty());
}

TEST(Load, AnchorsAreFine) {
  const Loaded loaded = load_text(
      "pools:\n  - {model: a, routing: &r {policy: least}, engines: [http://h:1]}\n  - {model: b, routing: *r, "
      "engines: [http://h:2]}\n",
      "f");
  EXPECT_THAT(complaints(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.pools.at(1).policy, policy::PolicyName::least);
}

TEST(Load, EmptySectionsAreFine) { EXPECT_THAT(complaints(with("limits:\nsessions: {}\npaths:\n")), IsEmpty()); }

TEST(Load, HostileFiles) {
  EXPECT_FALSE(load_text(std::string(100'000, '['), "f").ok());
  EXPECT_FALSE(load_text(std::string("a\0b", 3), "f").ok());
  EXPECT_FALSE(load_text("\xff\xfe\xfd", "f").ok());
  // Once-found by fuzzing: the YAML library repeats the byte that it did not like.
  EXPECT_THAT(complaints(std::string("a: \"\\\x01\"", 6)), ElementsAre("f:1:7: YAML: unknown escape character: ?"));
  EXPECT_FALSE(load_text("a: &a [*a, *a]\n", "f").ok());
  EXPECT_FALSE(load_text("pools: &p [{model: m, engines: *p}]\n", "f").ok());
  EXPECT_FALSE(load_text(std::string(5u << 20, ' '), "f").ok());
  // Once-found by fuzzing: the YAML library finds documents without end in it.
  EXPECT_THAT(complaints("\n,").at(0), HasSubstr("holds more than one YAML document"));
  EXPECT_FALSE(load_text(",", "f").ok());
  std::string many = "pools:\n";
  for (int i = 0; i < 300; ++i) many += "  - {model: m" + std::to_string(i) + ", engines: [http://h:1]}\n";
  EXPECT_THAT(complaints(many).at(0), HasSubstr("has 300 elements; allowed: a list of 1 to 256"));
}

TEST(Load, Files) {
  EXPECT_THAT(complaints(load_file("/nonexistent/warmgate.yaml")),
              ElementsAre("f: cannot be opened: No such file or directory"));
  EXPECT_FALSE(load_file("/").ok());
  const std::string path = testing::TempDir() + "warmgate-config-test.yaml";
  std::ofstream(path) << with("threads: 3\n");
  EXPECT_EQ(load_file(path).config.threads, 3u);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace wg::config
