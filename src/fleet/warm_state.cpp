#include "fleet/warm_state.h"

#include <algorithm>

#include "fleet/state.h"
#include "policy/break_even.h"

namespace wg::fleet {

namespace {
constexpr Duration active_for = std::chrono::seconds(60);

std::string thousands(Tokens tokens) { return std::to_string((tokens.count + 500) / 1000) + "k"; }
}  // namespace

std::string advice(const WarmPoolState& pool) {
  if (pool.active == 0) return "no session is active";
  if (pool.capacity <= Tokens{}) return "the size of the engines' KV cache is not known: set kv_tokens";
  std::string text = "working set " + thousands(pool.working_set) + " tokens, cache " + thousands(pool.capacity) +
                     ": " + std::to_string(pool.fit) + " sessions fit, " + std::to_string(pool.active) + " are active";
  // Half the bytes for each token hold twice as many.
  if (pool.fit < pool.active && !pool.kv_is_8_bit) text += "; fp8 KV would fit " + std::to_string(2 * pool.fit);
  return text;
}

std::vector<WarmReplicaState> Fleet::warm_replicas(TimePoint now) const {
  std::vector<WarmReplicaState> all;
  for (ReplicaIndex index = 0; index < state_->book.replica_count(); ++index) {
    if (state_->replicas.row(index).state.retired || !state_->replicas.row(index).state.rank) continue;
    all.push_back(state_->book.state_of(index, std::max(now, state_->now)));
  }
  return all;
}

WarmReplicaState WarmBook::state_of(ReplicaIndex index, TimePoint now) const {
  const WarmReplica& its = replicas_[index];
  WarmReplicaState out;
  out.index = index;
  out.seats = static_cast<std::uint32_t>(its.seats.all().size());
  for (const Seat& seat : its.seats.all()) out.seats_idle += seat.in_flight == 0;
  out.unread = static_cast<std::uint32_t>(its.unread.size());
  out.seat_tokens = its.seats.taken();
  out.told = its.size.told();
  out.capacity = its.size.value();
  out.is_learnt = its.size.is_learnt();
  out.share = its.size.net().share();
  out.steps_down = its.size.net().steps_down();
  out.keeps_prefixes = !its.keeps.no();
  out.told_by_answer = its.told_by_answer;
  out.told_by_counters = its.told_by_counters;
  out.shadow_tokens = its.ledger.total();
  out.copies = its.ledger.copies();
  const policy::PrefillModel& model = its.learnt.prefill();
  out.prefill_tokens_per_s = 1 / model.token_s;
  out.attention_s = model.attention_s;
  out.base_s = model.base_s;
  out.prefill_samples = its.learnt.fit().samples();
  out.hit_service_s = its.learnt.hit_service_s();
  out.decode_s = its.learnt.decode_s();
  out.backlog_s = its.backlog_s(now);
  out.break_even_s = usual_break_even_s(index);
  out.output = its.learnt.output();
  out.growth = its.learnt.growth();
  out.hit_step = its.learnt.step();
  out.hits_expected = its.hits_expected;
  out.hits_missed = its.hits_missed;
  return out;
}

// Of the lineages that sit there: the mean of what each would be held for.
double WarmBook::usual_break_even_s(ReplicaIndex index) const {
  double sum = 0, count = 0;
  for (const Seat& seat : replicas_[index].seats.all()) {
    const Lineage* const lineage = lineages_.peek(seat.lineage);
    if (!lineage || lineage->turns == 0) continue;
    sum += break_even_s(index, *lineage, gaps_.expected_s(lineage->gaps, lineage->wait));
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

WarmPoolState Fleet::warm_pool(PoolIndex pool, TimePoint now) const {
  const State& state = *state_;
  const TimePoint then = std::max(now, state.now);
  WarmPoolState out;
  const WaitingRoom& room = state.waiting.at(pool);
  out.waiting = room.queue.size();
  for (const auto& [key, id] : room.queue)
    out.longest_wait_s = std::max(out.longest_wait_s, to_seconds(then - state.requests.at(id).arrived));
  for (std::uint32_t dialect = 0; dialect < dialects; ++dialect)
    if (const TokensPerByte& ratio = state.book.tokens_per_byte(pool, dialect); ratio.samples() > 0)
      out.ratios.push_back({dialect, ratio.value(), ratio.samples()});
  std::size_t replicas = 0;
  out.kv_is_8_bit = !state.replicas.engines_of(pool).empty();
  for (const EngineIndex engine : state.replicas.engines_of(pool))
    out.kv_is_8_bit = out.kv_is_8_bit && state.replicas.engine(engine).kv_is_8_bit;
  for (const EngineIndex engine : state.replicas.engines_of(pool))
    for (const ReplicaIndex index : state.replicas.engine(engine).rank_rows) {
      if (!state.replicas.up(state.replicas.row(index))) continue;
      out.capacity += state.book.replica(index).size.value().value_or(Tokens{});
      ++replicas;
    }
  Tokens head;
  state.book.for_each_lineage([&](const Lineage& lineage) {
    if (lineage.pool != pool || (lineage.is_away && then - lineage.last_end > active_for)) return;
    if (lineage.context <= Tokens{}) return;
    ++out.active;
    const Tokens its_head = std::min(state.book.heads().size(lineage.head), lineage.context);
    head = std::max(head, its_head);
    out.working_set += lineage.context - its_head;
  });
  if (out.active == 0) return out;
  const std::int64_t own = std::max<std::int64_t>(out.working_set.count / out.active, 1);
  const std::int64_t room_for_own =
      std::max<std::int64_t>(out.capacity.count - head.count * static_cast<std::int64_t>(replicas), 0);
  out.fit = static_cast<std::uint32_t>(room_for_own / own);
  out.working_set += Tokens{head.count * static_cast<std::int64_t>(std::max<std::size_t>(replicas, 1))};
  return out;
}

}  // namespace wg::fleet
