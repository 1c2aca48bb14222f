// The configuration as the program uses it: immutable after load, all defaults in place. Read once at start; shared by
// const reference. What each key means and allows is said once, in keys.cpp's table, from which `check`'s messages and
// docs/configuration.md come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "policy/load.h"
#include "policy/quantum.h"

namespace wg::config {

struct Address {
  std::string host;
  std::uint16_t port = 0;
  std::string text() const;  // host:port, [host]:port for IPv6
};

struct Url {
  std::string host;
  std::uint16_t port = 80;
  std::string base_path;  // "" or "/prefix" without a trailing slash
  std::string text() const;
};

struct Engine {
  std::string name;  // default: engine1, engine2, ...: never the address
  Url url;
  std::optional<std::uint32_t> ranks;         // empty: auto
  std::optional<std::uint32_t> max_num_seqs;  // empty: unknown, or what the engine tells
  std::optional<Tokens> kv_tokens;            // empty: auto
  std::string api_key_env;                    // name of the environment variable
  std::string api_key;                        // its value at load; never printed
};

struct Pool {
  std::string model;                 // empty: whatever the engines say (only from --engine)
  std::vector<std::string> aliases;  // globs with * and ?
  policy::PolicyName policy = policy::PolicyName::sticky;
  std::optional<std::uint32_t> spill_threshold;  // empty: auto
  bool spill_rehome = false;
  policy::WarmMode warm_mode = policy::WarmMode::latency;
  std::vector<Engine> engines;
};

struct Config {
  Address listen{"127.0.0.1", 8080}, admin{"127.0.0.1", 8081};
  std::uint32_t threads = 1;
  std::vector<Pool> pools;

  struct Admission {
    Duration max_wait{};  // 0: nobody is refused for load
  } admission;
  struct Sessions {
    std::size_t limit = 65'536;
    Duration active_for = std::chrono::seconds(60);
    std::string key_header = "x-session-key";
  } sessions;
  struct Limits {
    std::uint64_t body = 32ull << 20;
    std::size_t headers = 32 * 1024;
    std::uint32_t connections = 10'000;
    std::optional<std::uint64_t> bodies;  // of all requests together; empty: from the memory there is
  } limits;
  struct Timeouts {
    Duration connect = std::chrono::seconds(2), first_byte = std::chrono::seconds(600),
             stream_idle = std::chrono::seconds(300), drain = std::chrono::seconds(60),
             request_head = std::chrono::seconds(30), request_body = std::chrono::seconds(60),
             keep_alive = std::chrono::seconds(75), upstream_keep_alive = std::chrono::seconds(4);
  } timeouts;
  struct Wait {
    Duration commit_after = std::chrono::seconds(10), ping_every = std::chrono::seconds(10);
  } wait;
  struct Edits {  // each can be switched off
    bool model = true, include_usage = true, billing_line = true;
  } edits;
  struct Log {
    std::string format = "text";  // text | json
    std::string file;             // empty: stderr
    std::string level = "info";   // debug | info | warning | error
  } log;
  std::string record_decisions;    // file for the fleet's recording; empty: none
  std::vector<std::string> paths;  // further forwarded paths of the allow-list, POST unless "GET /path"
  double time_scale = 1.0;
};

// All that is wrong with a file, each as "FILE:LINE:COLUMN: key: what; allowed: ...; did you mean ...?".
struct Problem {
  int line = 0, column = 0;  // from 1; 0: the file as a whole
  std::string key;           // dotted path: pools[0].routing.policy
  std::string message;
  bool is_warning = false;
};

struct Loaded {
  Config config;
  std::vector<Problem> problems;  // errors: config must not be used
  bool ok() const;
};

Loaded load_file(const std::string& path);
Loaded load_text(const std::string& yaml, const std::string& name);
std::string format(const Problem& problem, const std::string& file);

Result<Address> parse_address(std::string_view text);      // host:port, :port, [v6]:port
Result<Url> parse_url(std::string_view text);              // http://host[:port][/prefix]; https is refused in words
Result<Duration> parse_duration(std::string_view text);    // 250ms, 10s, 5m, 2h
Result<std::uint64_t> parse_bytes(std::string_view text);  // 4096, 32KiB, 32MiB, 1GiB

// Globs of aliases: * any run, ? one character; case-sensitive.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace wg::config
