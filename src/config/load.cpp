#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>

#include "config/reading.h"

namespace wg::config {
namespace {

constexpr std::size_t largest_file = 4u << 20;

Loaded failed_as_a_whole(std::string message) { return {Config{}, {Problem{0, 0, "", std::move(message), false}}}; }

}  // namespace

Position Reading::position_of(const std::string& path) const {
  std::string enclosing = path;
  while (true) {
    if (const auto found = positions_.find(enclosing); found != positions_.end()) return found->second;
    const std::size_t cut = enclosing.find_last_of(".[");
    if (cut == std::string::npos) return {};
    enclosing.resize(cut);
  }
}

void Reading::error(Position position, std::string key, std::string message) {
  problems.push_back({position.line, position.column, std::move(key), std::move(message), false});
}

void Reading::warn_at(const std::string& path, std::string message) {
  const Position position = position_of(path);
  problems.push_back({position.line, position.column, path, std::move(message), true});
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, longest)) result += c >= ' ' && c < '\x7f' ? c : '?';
  return result + (text.size() > longest ? "...\"" : "\"");
}

bool Loaded::ok() const {
  return std::none_of(problems.begin(), problems.end(), [](const Problem& problem) { return !problem.is_warning; });
}

std::string format(const Problem& problem, const std::string& file) {
  std::string text = file;
  if (problem.line > 0) text += ':' + std::to_string(problem.line) + ':' + std::to_string(problem.column);
  text += problem.is_warning ? ": warning: " : ": ";
  if (!problem.key.empty()) text += problem.key + ": ";
  return text + problem.message;
}

Loaded load_text(const std::string& yaml, const std::string&) {
  if (yaml.size() > largest_file) return failed_as_a_whole("is larger than 4 MiB");
  Reading reading;
  read_yaml(yaml, reading);
  judge(reading);
  std::stable_sort(reading.problems.begin(), reading.problems.end(), [](const Problem& a, const Problem& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return {std::move(reading.config), std::move(reading.problems)};
}

Loaded load_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failed_as_a_whole("cannot be opened: " + std::generic_category().message(errno));
  std::string text;
  for (char block[65'536]; in.read(block, sizeof block) || in.gcount() > 0;) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > largest_file) break;
  }
  if (in.bad()) return failed_as_a_whole("cannot be read: " + std::generic_category().message(errno));
  return load_text(text, path);
}

}  // namespace wg::config
