// Who is measured when: every arm (a target under a policy) with every number of sessions and every seed, the arms of
// one step one after the other, in turned order at every second step, so that none is always first. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wg::bench {

struct Cell {
  std::size_t arm = 0, step = 0;  // indices
  std::uint32_t seed = 1;
};

std::vector<Cell> schedule(std::size_t arms, std::size_t steps, std::uint32_t seeds);

}  // namespace wg::bench
