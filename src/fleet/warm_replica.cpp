#include "fleet/warm_replica.h"

namespace wg::fleet {

namespace {
// A capacity that nobody told and nothing has shown yet: as good as none, and sums of it do not overflow.
constexpr Tokens unknown_capacity{1'000'000'000'000};
}  // namespace

void WarmReplica::found(const EngineFound& engine) {
  size.tell(engine.kv_capacity);
  keeps.tell(engine.prefix_caching);
  size_changed();
}

void WarmReplica::sampled(const ReplicaSampled& sample, const WarmRules& rules) {
  if (counters.look(sample.prefix_queries, sample.prefix_hits, !backlog.empty())) ledger.forget_idle();
  const double more = preemptions < 0 ? 0 : sample.preemptions - preemptions;
  preemptions = sample.preemptions;
  if (more > 0 && rules.holds_seats && rules.safety_net) size.net().preempted(more);
}

// Where nobody tells a size the shadow is larger than what is believed, so that what stays beyond it is seen.
void WarmReplica::size_changed() {
  std::optional<Tokens> shadow = capacity = size.value();
  if (shadow && size.is_learnt()) shadow->count += shadow->count / 4;
  ledger.set_capacity(shadow);
}

Tokens WarmReplica::seat_capacity() const { return capacity.value_or(unknown_capacity); }

double WarmReplica::read_s(Tokens uncached, Tokens cached) const {
  const policy::PrefillModel& model = learnt.prefill();
  return policy::prefill_s(model, uncached, cached) - model.base_s;
}

double WarmReplica::rotation_s(Tokens context) const { return policy::prefill_s(learnt.prefill(), context, {}); }

std::optional<std::uint32_t> WarmReplica::quantum(policy::WarmMode mode, double rotation_s, double gap_s,
                                                  double waiting_per_seat) const {
  return policy::quantum_turns(mode, rotation_s, learnt.turn_s() + gap_s, waiting_per_seat);
}

double WarmReplica::usual_quantum(double rotation_s, double gap_s) const {
  return quantum(policy::WarmMode::latency, rotation_s, gap_s, 0).value_or(policy::least_quantum);
}

}  // namespace wg::fleet
