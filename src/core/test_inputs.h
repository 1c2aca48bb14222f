// For tests: lists of hostile inputs in tests/data, which unit tests read and integration tests send. An entry is a
// line "VERDICT why", then lines of bytes, indented by two spaces and joined as they are; \r \n \t \\ and \xNN are
// escapes. Single-threaded.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace wg::testing {

struct Input {
  std::string verdict;  // a status, or "pass"
  std::string why, bytes;
};

inline std::string unescaped(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      out += line[i];
    } else if (const char c = line[++i]; c == 'x') {
      out += static_cast<char>(std::stoi(std::string(line.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += c == 'r' ? '\r' : c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return out;
}

inline std::vector<Input> inputs(const std::string& file_below_tests_data) {
  std::ifstream file(std::string(WG_TEST_DATA) + "/" + file_below_tests_data);
  EXPECT_TRUE(file.good()) << file_below_tests_data;
  std::vector<Input> entries;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("  ")) {
      entries.back().bytes += unescaped(std::string_view(line).substr(2));
    } else if (!line.empty() && !line.starts_with('#')) {
      const std::size_t space = line.find(' ');
      entries.push_back({line.substr(0, space), line.substr(space + 1), ""});
    }
  }
  EXPECT_FALSE(entries.empty()) << file_below_tests_data;
  return entries;
}

}  // namespace wg::testing
