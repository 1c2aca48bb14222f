// Between reading a file key by key and judging it as a whole: what was read, and where each key stood.
// Owner: one load; start-up only, so exceptions of the YAML library end here and come out as problems.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/config.h"

namespace wg::config {

struct Position {
  int line = 0, column = 0;  // from 1
};

class Reading {
 public:
  Config config;
  std::vector<Problem> problems;

  void remember(const std::string& path, Position position) { positions_.emplace(path, position); }
  bool was_given(const std::string& path) const { return positions_.count(path) != 0; }
  Position position_of(const std::string& path) const;  // of the nearest enclosing key that was given

  void error(Position position, std::string key, std::string message);
  void error_at(const std::string& path, std::string message) { error(position_of(path), path, std::move(message)); }
  void warn_at(const std::string& path, std::string message);

 private:
  std::map<std::string, Position> positions_;
};

// Fills `reading` from YAML. Goes on after each problem.
void read_yaml(const std::string& yaml, Reading& reading);

// What no key can know alone: names given twice, addresses that collide, the environment. Also fills what is worked out
// from other keys: engine names and API keys.
void judge(Reading& reading);

// Untrusted text for a message: printable, at most 60 characters, in double quotes.
std::string quoted(std::string_view text);

}  // namespace wg::config
