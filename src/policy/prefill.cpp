#include "policy/prefill.h"

#include <algorithm>

namespace wg::policy {

double prefill_s(const PrefillModel& model, Tokens uncached, Tokens cached) {
  const double n = static_cast<double>(std::max<std::int64_t>(uncached.count, 0));
  const double c = static_cast<double>(std::max<std::int64_t>(cached.count, 0));
  return model.base_s + n * model.token_s + model.attention_s * n * (c + n / 2);
}

double effective_rate(const PrefillModel& model, Tokens context) {
  const double n = static_cast<double>(std::max<std::int64_t>(context.count, 1));
  return 1 / (model.token_s + model.attention_s * n / 2);
}

}  // namespace wg::policy
