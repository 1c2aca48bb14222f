#include "config/globs.h"

#include <vector>

#include "config/config.h"

namespace wg::config {

// Only the last * needs to be remembered: an earlier one could not match more than it does. Linear but for that.
bool glob_matches(std::string_view pattern, std::string_view text) {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t p = 0, t = 0, star = none, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != none) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// common[j]: the first i characters of a and the first j of b have a text in common.
bool globs_overlap(std::string_view a, std::string_view b) {
  std::vector<char> common(b.size() + 1, 0), previous;
  for (std::size_t i = 0; i <= a.size(); ++i) {
    previous.swap(common);
    common.assign(b.size() + 1, 0);
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 && j == 0) {
        common[j] = 1;
        continue;
      }
      const bool star_a = i > 0 && a[i - 1] == '*', star_b = j > 0 && b[j - 1] == '*';
      const bool without_a = i > 0 && previous[j] != 0, without_b = j > 0 && common[j - 1] != 0;
      bool both = (star_a && (without_a || without_b)) || (star_b && (without_a || without_b));
      if (i > 0 && j > 0 && previous[j - 1] != 0)
        both = both || (!star_a && !star_b && (a[i - 1] == b[j - 1] || a[i - 1] == '?' || b[j - 1] == '?'));
      common[j] = both ? 1 : 0;
    }
  }
  return common[b.size()] != 0;
}

bool is_glob(std::string_view pattern) { return pattern.find_first_of("*?") != std::string_view::npos; }

}  // namespace wg::config
