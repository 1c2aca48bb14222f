// "Did you mean ...?": the nearest of the known words, if one is near enough to be a slip. Pure; any thread.
#pragma once

#include <span>
#include <string_view>

namespace wg::config {

// Insertions, removals, replacements and swaps of neighbours that lead from a to b; letters' case is ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Empty if none is within a third of the word's length (at least 1, at most 3). The earlier of equally near ones.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace wg::config
