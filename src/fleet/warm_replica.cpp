#include "fleet/warm_replica.h"

namespace wg::fleet {

void WarmReplica::found(const EngineFound& engine) {
  size.tell(engine.kv_capacity);
  keeps.tell(engine.prefix_caching);
  size_changed();
}

void WarmReplica::sampled(const ReplicaSampled& sample, const WarmRules& rules) {
  if (counters.look(sample.prefix_queries, sample.prefix_hits, !backlog.empty())) {
    ledger.forget_idle();
    ++emptied;
  }
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

Standing WarmReplica::standing() const {
  Standing out;
  out.capacity = capacity;
  out.room = out.seat_capacity() - seats.taken();
  out.leaving = seats.leaving();
  out.seated = static_cast<std::uint32_t>(seats.all().size());
  out.in_flight = seats.in_flight();
  out.unread = static_cast<std::uint32_t>(backlog.turns());
  out.read_by = backlog.read_by();
  out.first_expiry = seats.first_expiry();
  out.keeps_prefixes = keeps_prefixes();
  out.prefill = learnt.prefill();
  out.output = learnt.output();
  out.growth = learnt.growth();
  out.step = learnt.step();
  out.turn_s = learnt.turn_s();
  out.decode_s = learnt.decode_s();
  out.hit_service_s = learnt.hit_service_s();
  return out;
}

}  // namespace wg::fleet
