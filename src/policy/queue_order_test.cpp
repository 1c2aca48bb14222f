#include "policy/queue_order.h"

#include <gtest/gtest.h>

namespace wg::policy {

TEST(QueueOrder, ByArrivalWithALeadForTheForeground) {
  using namespace std::chrono_literals;
  const auto at = [](Duration time, std::uint64_t number, Urgency urgency) {
    return queue_key(TimePoint(time), number, urgency);
  };
  EXPECT_LT(at(1s, 1, Urgency::foreground), at(2s, 2, Urgency::foreground));
  EXPECT_LT(at(1s, 1, Urgency::foreground), at(1s, 2, Urgency::foreground));
  EXPECT_LT(at(4s, 2, Urgency::foreground), at(1s, 1, Urgency::sub_agent));
  EXPECT_LT(at(9s, 2, Urgency::sub_agent), at(1s, 1, Urgency::background));
  // ... which ages away: nobody is passed for ever.
  EXPECT_LT(at(1s, 1, Urgency::background), at(30s, 2, Urgency::foreground));
}

}  // namespace wg::policy
