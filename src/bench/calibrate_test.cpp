#include "bench/calibrate.h"

#include <gtest/gtest.h>

namespace wg::bench {
namespace {

TEST(Calibrate, the_difference_of_two_prompts_leaves_the_template_out) {
  const Calibration c = calibration_of(400, 112 + 30, 3'200, 1'232 + 30);  // 2.5 bytes a token and 30 tokens around
  EXPECT_TRUE(c.measured);
  EXPECT_DOUBLE_EQ(c.bytes_per_token, 2.5);
}

TEST(Calibrate, figures_without_sense_are_not_used) {
  for (const auto& [first, second] :
       {std::pair(100, 100), std::pair(100, 50), std::pair(0, 1), std::pair(0, 100'000)}) {
    const Calibration c = calibration_of(400, first, 3'200, second);
    EXPECT_FALSE(c.measured);
    EXPECT_DOUBLE_EQ(c.bytes_per_token, 4);
    EXPECT_FALSE(c.why.empty());
  }
}

}  // namespace
}  // namespace wg::bench
