#include "bench/schedule.h"

namespace wg::bench {

std::vector<Cell> schedule(std::size_t arms, std::size_t steps, std::uint32_t seeds) {
  std::vector<Cell> cells;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed)
    for (std::size_t step = 0; step < steps; ++step) {
      const bool turned = (seed - 1 + step) % 2 == 1;
      for (std::size_t i = 0; i < arms; ++i) cells.push_back({turned ? arms - 1 - i : i, step, seed});
    }
  return cells;
}

}  // namespace wg::bench
