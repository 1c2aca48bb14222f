#include "policy/retry.h"

namespace wg::policy {

std::string_view name_of(Failure failure) {
  switch (failure) {
    case Failure::refused:
      return "refused";
    case Failure::reset_before_head:
      return "reset";
    case Failure::stale_connection:
      return "stale_connection";
    case Failure::busy:
      return "busy";
    case Failure::engine_dead:
      return "engine_dead";
    case Failure::timed_out:
      return "timed_out";
  }
  return "";
}

Again after(Failure failure, const Attempts& attempts) {
  if (failure == Failure::timed_out) return Again::none;  // the client has waited its time; another wait is no help
  // A fresh connection cannot be stale: a second such report is a reset like others.
  if (failure == Failure::stale_connection && !attempts.fresh_connection && attempts.replica_up)
    return Again::same_replica;
  return attempts.retries < attempts.max_retries ? Again::another_replica : Again::none;
}

}  // namespace wg::policy
