#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "config/keys.h"
#include "config/nearest.h"
#include "config/reading.h"
#include "config/scalar.h"
#include "config/second_document.h"

namespace wg::config {
namespace {

Position position_of(const YAML::Mark& mark) {
  return mark.is_null() ? Position{1, 1} : Position{mark.line + 1, mark.column + 1};
}
Position position_of(const YAML::Node& node) { return position_of(node.Mark()); }

std::string_view kind_of(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  return node.IsNull() ? "empty" : "a single value";
}

std::string joined(const std::vector<const Key*>& keys) {
  std::string list;
  for (const Key* key : keys) list += (list.empty() ? "" : ", ") + std::string(leaf_of(*key));
  return list;
}

// A key in the wrong place: where it would be right. Empty if it is right nowhere.
std::string home_of(std::string_view leaf) {
  for (const Key& key : keys())
    if (leaf_of(key) == leaf) {
      const std::size_t cut = key.path.rfind('.');
      return cut == std::string_view::npos ? "the top level" : std::string(key.path.substr(0, cut));
    }
  return {};
}

class Walk {
 public:
  explicit Walk(Reading& reading) : reading_(reading), at_{reading.config, nullptr, nullptr} {}

  // `path` as in the file ("pools[0].routing"), `pattern` as in the table ("pools[].routing"); both empty at the top.
  void section(const YAML::Node& node, const std::string& path, const std::string& pattern) {
    std::set<std::string> seen;
    const std::vector<const Key*> known = keys_below(pattern);
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        reading_.error(position_of(entry.first), path, "a key must be a plain word; allowed: " + joined(known));
        continue;
      }
      const std::string name = entry.first.Scalar();
      const auto found =
          std::find_if(known.begin(), known.end(), [&name](const Key* key) { return leaf_of(*key) == name; });
      if (found == known.end()) {
        unknown(entry.first, path, known);
        continue;
      }
      const std::string here = path.empty() ? name : path + '.' + name;
      if (!seen.insert(name).second) {
        reading_.error(position_of(entry.first), here,
                       "is given twice; first at line " + std::to_string(reading_.position_of(here).line));
        continue;
      }
      reading_.remember(here, position_of(entry.second.IsNull() ? entry.first : entry.second));
      value(entry.second, **found, here);
    }
    for (const Key* key : known)
      if (key->required && seen.count(std::string(leaf_of(*key))) == 0) missing(node, *key, path);
  }

 private:
  void unknown(const YAML::Node& name_node, const std::string& path, const std::vector<const Key*>& known) {
    const std::string& name = name_node.Scalar();
    std::vector<std::string_view> names;
    names.reserve(known.size());
    for (const Key* key : known) names.push_back(leaf_of(*key));
    std::string message = "unknown key; ";
    if (const std::string_view near = nearest(name, names); !near.empty())
      message += "did you mean \"" + std::string(near) + "\"? ";
    else if (const std::string home = home_of(name); !home.empty())
      message += "it belongs to " + home + "; ";
    const std::string shown = quoted(name);
    reading_.error(position_of(name_node), (path.empty() ? "" : path + '.') + shown.substr(1, shown.size() - 2),
                   message + "allowed: " + joined(known));
  }

  void missing(const YAML::Node& node, const Key& key, const std::string& path) {
    const std::string leaf(leaf_of(key));
    reading_.error(position_of(node), path.empty() ? leaf : path + '.' + leaf, "is missing; allowed: " + allowed(key));
  }

  void value(const YAML::Node& node, const Key& key, const std::string& path) {
    if (key.kind == Kind::section) {
      if (node.IsMap()) return section(node, path, std::string(key.path));
      if (!node.IsNull()) wrong_kind(node, key, path);
      return;
    }
    if (key.kind == Kind::items) return items(node, key, path);
    if (key.kind == Kind::texts) return texts(node, key, path);
    if (!node.IsScalar()) return wrong_kind(node, key, path);
    store(node, key, path);
  }

  void wrong_kind(const YAML::Node& node, const Key& key, const std::string& path) {
    reading_.error(reading_.position_of(path), path, "is " + std::string(kind_of(node)) + "; allowed: " + allowed(key));
  }

  void store(const YAML::Node& node, const Key& key, const std::string& path) {
    const auto read = read_scalar(key, node.Scalar());
    if (read)
      key.store(at_, *read);
    else
      reading_.error(position_of(node), path, read.error().what);
  }

  void texts(const YAML::Node& node, const Key& key, const std::string& path) {
    if (node.IsNull()) return;
    if (!node.IsSequence()) return wrong_kind(node, key, path);
    if (node.size() > key.high)
      return reading_.error(position_of(node), path,
                            "has " + std::to_string(node.size()) + " elements; allowed: " + allowed(key));
    Value all;
    for (std::size_t i = 0; i < node.size(); ++i) {
      const std::string here = path + '[' + std::to_string(i) + ']';
      reading_.remember(here, position_of(node[i]));
      const bool scalar = node[i].IsScalar(), fits = scalar && key.acceptable(node[i].Scalar());
      if (!fits)
        reading_.error(position_of(node[i]), here,
                       (scalar ? quoted(node[i].Scalar()) + " does not fit" : "is " + std::string(kind_of(node[i]))) +
                           "; allowed: " + allowed(key));
      all.texts.push_back(fits ? node[i].Scalar() : "");  // an empty one keeps the places of those behind it
    }
    key.store(at_, all);
  }

  void items(const YAML::Node& node, const Key& key, const std::string& path) {
    if (!node.IsSequence() || node.size() == 0)
      return reading_.error(
          reading_.position_of(path), path,
          (node.IsSequence() ? "is an empty list" : "is " + std::string(kind_of(node))) + "; allowed: " + allowed(key));
    if (node.size() > key.high)
      return reading_.error(position_of(node), path,
                            "has " + std::to_string(node.size()) + " elements; allowed: " + allowed(key));
    const std::string pattern = std::string(key.path) + "[]";
    for (std::size_t i = 0; i < node.size(); ++i) {
      const std::string here = path + '[' + std::to_string(i) + ']';
      reading_.remember(here, position_of(node[i]));
      key.store(at_, Value{});
      if (node[i].IsMap()) {
        section(node[i], here, pattern);
      } else if (node[i].IsScalar() && pattern == "pools[].engines[]") {
        reading_.remember(here + ".url", position_of(node[i]));
        store(node[i], key_at("pools[].engines[].url"), here + ".url");
      } else {
        reading_.error(position_of(node[i]), here,
                       "is " + std::string(kind_of(node[i])) + "; allowed: " + allowed(key));
      }
    }
  }

  Reading& reading_;
  Place at_;
};

// The library's words for a name that begins with * are of no help: in YAML that is a reference to an anchor.
std::string syntax_message(const YAML::Exception& exception) {
  std::string message = "YAML: " + exception.msg;
  for (char& c : message)  // it repeats bytes of the file
    if (c < ' ' || c == '\x7f') c = '?';
  if (exception.msg.find("alias") != std::string::npos || exception.msg.find("anchor") != std::string::npos)
    message += "; a value that begins with * or & needs quotes";
  if (exception.msg.find("tab") != std::string::npos) message += "; indent with spaces";
  return message;
}

}  // namespace

void read_yaml(const std::string& yaml, Reading& reading) {
  try {
    const YAML::Node top = YAML::Load(yaml);
    if (const auto second = second_document(yaml))
      reading.error(*second, "", "holds more than one YAML document; allowed: one");
    if (top.IsMap() || top.IsNull())
      Walk(reading).section(top, "", "");
    else
      reading.error(position_of(top), "",
                    "is " + std::string(kind_of(top)) + "; allowed: a map with " + joined(keys_below("")));
  } catch (const YAML::Exception& exception) {
    reading.error(position_of(exception.mark), "", syntax_message(exception));
  }
}

}  // namespace wg::config
