// A small YAML file as a flat list: "load.first" -> ["7200", "7500"], with lines. For files that are no gateway
// configuration. Start-up only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace wg::config {

struct FlatEntry {
  std::string path;                 // keys joined with dots
  std::vector<std::string> values;  // one of a scalar, all of a list of scalars
  int line = 0;                     // from 1
};

// In the file's order. The error names the line: no map at the top, a key given twice, a list of lists.
Result<std::vector<FlatEntry>> read_flat_yaml(const std::string& text);

}  // namespace wg::config
