#include "policy/queue_order.h"

namespace wg::policy {

Duration lag_of(Urgency urgency) {
  switch (urgency) {
    case Urgency::person:
      return {};
    case Urgency::foreground:
      return std::chrono::seconds(20);
    case Urgency::sub_agent:
      return std::chrono::seconds(25);
    case Urgency::background:
      return std::chrono::seconds(40);
  }
  return {};
}

QueueKey queue_key(TimePoint arrived, std::uint64_t number, Urgency urgency, double reading_s) {
  return {arrived + lag_of(urgency) + from_seconds(lag_per_reading * reading_s), number};
}

}  // namespace wg::policy
