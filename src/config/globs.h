// What two globs have in common. (glob_matches, for one glob and one text, stands in config.h.) Pure; any thread.
#pragma once

#include <string_view>

namespace wg::config {

// Is there a text that both match? Work: the product of their lengths.
bool globs_overlap(std::string_view a, std::string_view b);

bool is_glob(std::string_view pattern);  // has a * or ?

}  // namespace wg::config
