// One line per request, text or JSON, written by a thread of its own: the data path only fills a record and hands it
// over; when the queue is full lines are dropped and counted, never waited for. Never bodies, keys, or session values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/units.h"

namespace wg::record {

struct RequestRecord {
  std::string request_id, method, path;                          // path without query
  std::string_view api, route, outcome, rule, key_source, stop;  // literals
  std::string pool, replica, session, model;                     // session: short hash
  int status = 0;
  std::uint32_t attempts = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;
  Tokens prompt, cached, output;
  bool measured = false, cached_measured = false;
  Duration waited{}, ttft{}, total{};  // in the gateway before dispatch; to the first content; to the end
  bool streamed = false;
  std::string error;  // one sentence, if it failed
};

struct LogOptions {
  std::string format = "text", file, level = "info";
};

class Log {
 public:
  explicit Log(const LogOptions& options);  // throws std::runtime_error if the file cannot be opened
  ~Log();                                   // writes what is queued

  void request(const RequestRecord& record);
  void debug(std::string_view message);
  void info(std::string_view message);
  void warning(std::string_view message);
  void error(std::string_view message);
  std::uint64_t dropped() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wg::record
