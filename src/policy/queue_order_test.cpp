#include "policy/queue_order.h"

#include <gtest/gtest.h>

namespace wg::policy {

TEST(QueueOrder, ByArrivalWithALeadForWhomAPersonWaits) {
  using namespace std::chrono_literals;
  const auto at = [](Duration time, std::uint64_t number, Urgency urgency, double reading_s = 0) {
    return queue_key(TimePoint(time), number, urgency, reading_s);
  };
  EXPECT_LT(at(1s, 1, Urgency::foreground), at(2s, 2, Urgency::foreground));
  EXPECT_LT(at(1s, 1, Urgency::foreground), at(1s, 2, Urgency::foreground));
  EXPECT_LT(at(15s, 2, Urgency::person), at(1s, 1, Urgency::foreground));
  EXPECT_LT(at(4s, 2, Urgency::foreground), at(1s, 1, Urgency::sub_agent));
  EXPECT_LT(at(9s, 2, Urgency::sub_agent), at(1s, 1, Urgency::background));
  EXPECT_LT(at(3s, 2, Urgency::person, 1), at(1s, 1, Urgency::person, 3)) << "what is read fast goes first";
  // ... which ages away: nobody is passed for ever.
  EXPECT_LT(at(1s, 1, Urgency::background, 5), at(60s, 2, Urgency::person));
}

}  // namespace wg::policy
