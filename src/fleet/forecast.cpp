#include "fleet/forecast.h"

#include <algorithm>

namespace wg::fleet {

// What the engine counted of the turn before, and the text that has come since.
Tokens Forecast::prompt(const RequestArrived& asked, const Lineage& lineage) const {
  if (asked.text_bytes <= 0) return asked.prompt_estimate;
  const TokensPerByte& ratio = facts_.ratios.of(asked.pool, asked.dialect);
  if (lineage.text_bytes <= 0) return ratio.of(asked.text_bytes);
  if (asked.text_bytes >= lineage.text_bytes) return lineage.prompt + ratio.of(asked.text_bytes - lineage.text_bytes);
  const double kept = static_cast<double>(asked.text_bytes) / static_cast<double>(lineage.text_bytes);
  return {static_cast<std::int64_t>(kept * static_cast<double>(lineage.prompt.count))};
}

double Forecast::pause_s(const Lineage& lineage) const { return facts_.gaps.expected_s(lineage.gaps, lineage.wait); }

Asking Forecast::asking(const Reading& reading) const {
  Asking out{&reading, facts_.lineages.peek(reading.lineage), facts_.heads.size(reading.head), 0};
  if (out.lineage) out.gap_s = pause_s(*out.lineage);
  return out;
}

Asking Forecast::asking(const Lineage& lineage) const {
  return {nullptr, &lineage, facts_.heads.size(lineage.head), pause_s(lineage)};
}

Tokens Forecast::cached(const Asking& asking, ReplicaIndex at) const {
  const WarmReplica& its = replica(at);
  if (!standing(at).keeps_prefixes) return {};
  const Reading& reading = *asking.reading;
  const Tokens head = asking.head, head_there = head > Tokens{} ? its.ledger.held(reading.head) : Tokens{};
  Tokens cached = std::min(head, head_there);
  if (asking.lineage && asking.lineage->may_be_at(at) && is_nearly(head_there, head))
    cached += its.ledger.held(reading.lineage);
  if (cached == Tokens{} && reading.parent_head) {
    const double shared =
        facts_.parent_share.value_or(0) * static_cast<double>(its.ledger.held(reading.parent_head).count);
    cached.count = static_cast<std::int64_t>(shared);
  }
  if (cached <= Tokens{}) return {};
  cached = std::min(cached, reading.prompt - Tokens{1});  // an engine computes at least one token
  if (const Tokens step = standing(at).step; step > Tokens{1}) cached.count -= cached.count % step.count;
  return std::max(cached, Tokens{});
}

Tokens Forecast::need_now(const Asking& asking, ReplicaIndex at) const {
  const Reading& reading = *asking.reading;
  const WarmReplica& its = replica(at);
  const Tokens whole = reading.prompt + standing(at).output;
  if (asking.head <= Tokens{} || !its.seats.counts_head(reading.head)) return whole;
  return whole - std::min(asking.head, reading.prompt);
}

// A resident grows with each turn of its quantum. Without room for that, residents outgrow the cache together. Who
// leaves after this turn needs none. At most as much again as it has: where turns take next to no time a quantum has
// thousands of them, and one seat would take the cache.
Tokens Forecast::reserve(const Asking& asking, ReplicaIndex at) const {
  const Standing& its = standing(at);
  const double growth = static_cast<double>(its.growth.count);
  if (growth <= 0 || !asking.lineage || !stays(asking, at)) return {};
  const Tokens prompt = asking.reading->prompt;
  const Seat* const seat = asking.lineage->may_be_at(at) ? replica(at).seats.find(asking.reading->lineage) : nullptr;
  const double turns_left = its.usual_quantum(its.rotation_s(prompt), asking.gap_s) - (seat ? seat->turns : 0) - 1;
  return std::min(Tokens{static_cast<std::int64_t>(std::max(turns_left, 0.0) * growth)}, prompt);
}

// The reserve is worked out only where it decides: it is at most the prompt once more.
Tokens Forecast::need(const Asking& asking, ReplicaIndex at) const {
  const Standing& its = standing(at);
  const policy::WarmGlance least = glance(asking, at);
  const bool fits_anyway = 2 * asking.reading->prompt.count + its.output.count <= its.room.count;
  if (fits_anyway || policy::is_hopeless(least)) return least.need_at_least;
  return need_now(asking, at) + reserve(asking, at);
}

Outlook Forecast::outlook(const Asking& asking, ReplicaIndex at) const {
  const Tokens there = cached(asking, at);
  return {there, standing(at).read_s(asking.reading->prompt - there, there)};
}

double Forecast::reading_ahead_s(const Reading& reading) const {
  const Asking its_asking = asking(reading);
  const Lineage* const lineage = its_asking.lineage;
  if (!lineage || facts_.replicas.empty()) return 0;
  const bool has_home = lineage->home != no_replica;
  const ReplicaIndex at = has_home ? lineage->home : 0;
  if (stays(its_asking, at)) return 0;
  return has_home ? outlook(its_asking, at).read_s : standing(at).read_s(reading.prompt);
}

policy::ServiceFacts Forecast::service(const Asking& asking, ReplicaIndex at) const {
  const Standing& its = standing(at);
  const Tokens head = asking.head, own = std::max(asking.lineage->context - head, Tokens{1});
  policy::ServiceFacts facts;
  const double fit = static_cast<double>((its.seat_capacity() - head).count) / static_cast<double>(own.count);
  facts.residents = static_cast<double>(static_cast<std::int64_t>(fit));  // whole ones
  facts.reread_s = its.read_s(own, head);
  facts.decode_s = its.decode_s;
  facts.hit_service_s = its.hit_service_s;
  facts.quantum = its.usual_quantum(facts.reread_s, asking.gap_s);
  return facts;
}

double Forecast::break_even_s(const Asking& asking, ReplicaIndex at) const {
  return policy::break_even_s(service(asking, at));
}

bool Forecast::stays(const Asking& asking, ReplicaIndex at) const {
  return policy::is_worth_holding(break_even_s(asking, at), asking.gap_s);
}

}  // namespace wg::fleet
