#include "config/nearest.h"

#include <algorithm>
#include <vector>

#include "core/header.h"

namespace wg::config {

// Optimal string alignment (Damerau 1964, without repeated edits of one place): three rows of the usual table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = last;
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > 64) return {};
  std::size_t best_distance = std::clamp<std::size_t>(word.size() / 3, 1, 3) + 1;
  std::string_view best;
  for (const std::string_view candidate : known)
    if (const std::size_t distance = edit_distance(word, candidate); distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  return best;
}

}  // namespace wg::config
