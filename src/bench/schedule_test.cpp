#include "bench/schedule.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace wg::bench {
namespace {

TEST(Schedule, holds_everything_once) {
  const auto cells = schedule(3, 4, 2);
  std::set<std::tuple<std::size_t, std::size_t, std::uint32_t>> seen;
  for (const Cell& cell : cells) seen.emplace(cell.arm, cell.step, cell.seed);
  EXPECT_EQ(cells.size(), 24u);
  EXPECT_EQ(seen.size(), 24u);
}

TEST(Schedule, arms_take_turns_in_being_first) {
  const auto cells = schedule(2, 2, 2);
  std::vector<std::size_t> order;
  for (const Cell& cell : cells) order.push_back(cell.arm);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 1, 0, 1, 0, 0, 1}));
}

}  // namespace
}  // namespace wg::bench
