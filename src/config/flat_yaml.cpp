#include "config/flat_yaml.h"

#include <yaml-cpp/yaml.h>

#include <set>

namespace wg::config {

namespace {

constexpr int deepest = 8;

struct Flattening {
  std::vector<FlatEntry> entries;
  std::set<std::string> seen;
  std::string wrong;

  void complain(int line, const std::string& what) {
    if (wrong.empty()) wrong = "line " + std::to_string(line) + ": " + what;
  }
  static int line_of(const YAML::Node& node) { return node.Mark().is_null() ? 1 : node.Mark().line + 1; }

  void map(const YAML::Node& node, const std::string& above, int depth) {
    if (depth > deepest) return complain(line_of(node), "too deep");
    for (const auto& member : node) {
      const int line = line_of(member.first);
      if (!member.first.IsScalar()) return complain(line, "a key must be a plain word");
      const std::string path = above.empty() ? member.first.Scalar() : above + "." + member.first.Scalar();
      if (!seen.insert(path).second) return complain(line, path + " is given twice");
      value(member.second, path, line, depth);
    }
  }

  void value(const YAML::Node& node, const std::string& path, int line, int depth) {
    if (node.IsMap()) return map(node, path, depth + 1);
    FlatEntry entry{path, {}, line};
    if (node.IsScalar()) entry.values.push_back(node.Scalar());
    if (node.IsSequence())
      for (const auto& element : node) {
        if (!element.IsScalar()) return complain(line, path + " must be a list of plain values");
        entry.values.push_back(element.Scalar());
      }
    entries.push_back(std::move(entry));
  }
};

}  // namespace

Result<std::vector<FlatEntry>> read_flat_yaml(const std::string& text) {
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) return fail(Fault::client, "line 1: there must be keys and values at the top");
    Flattening flattening;
    flattening.map(root, "", 0);
    if (!flattening.wrong.empty()) return fail(Fault::client, flattening.wrong);
    return std::move(flattening.entries);
  } catch (const YAML::Exception& error) {
    return fail(Fault::client, "line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

}  // namespace wg::config
