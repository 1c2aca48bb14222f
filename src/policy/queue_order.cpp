#include "policy/queue_order.h"

namespace wg::policy {

Duration lag_of(Urgency urgency) {
  switch (urgency) {
    case Urgency::foreground:
      return {};
    case Urgency::sub_agent:
      return std::chrono::seconds(5);
    case Urgency::background:
      return std::chrono::seconds(20);
  }
  return {};
}

QueueKey queue_key(TimePoint arrived, std::uint64_t number, Urgency urgency) {
  return {arrived + lag_of(urgency), number};
}

}  // namespace wg::policy
