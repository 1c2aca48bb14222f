#include "fleet/placement.h"

#include "policy/hash.h"
#include "policy/least.h"
#include "policy/off.h"
#include "policy/round_robin.h"
#include "policy/sticky.h"

namespace wg::fleet {

namespace {
policy::Decision ask_policy(PoolRule& rule, std::span<const policy::ReplicaView> views, const PlacementAsk& ask) {
  switch (rule.policy) {
    case policy::PolicyName::off:
      return policy::off(views, rule.decisions++);
    case policy::PolicyName::round_robin:
      return policy::round_robin(views, rule.last);
    case policy::PolicyName::hash:
      if (ask.session) return policy::rendezvous(views, ask.session);
      break;
    case policy::PolicyName::sticky:
      if (ask.session)
        return policy::sticky(views, {ask.home, ask.parent_home, rule.last, rule.rehome, ask.home_failed});
      break;
    case policy::PolicyName::warm:  // what it cannot steer by rank: whole engines, by load
    case policy::PolicyName::least:
      break;
  }
  return policy::least(views, rule.last);
}
}  // namespace

policy::Decision place(PoolRule& rule, std::span<const policy::ReplicaView> views, const PlacementAsk& ask) {
  policy::Decision decision = ask_policy(rule, views, ask);
  // The other policies do not look at homes, so they leave one that sticky made as it is.
  if (rule.policy != policy::PolicyName::sticky) decision.becomes_home = !ask.has_home;
  if (decision.replica != no_replica && decision.route != policy::Route::sticky) rule.last = decision.replica;
  return decision;
}

}  // namespace wg::fleet
