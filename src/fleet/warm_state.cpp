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
  if (!pool.keeps_prefixes)
    return "no engine keeps prefixes: each turn is read as a whole, and nothing can be kept warm";
  if (pool.capacity <= Tokens{}) return "the size of the engines' KV cache is not known: set kv_tokens";
  std::string text = "working set " + thousands(pool.working_set) + " tokens, cache " + thousands(pool.capacity) +
                     ": " + std::to_string(pool.fit) + " sessions fit, " + std::to_string(pool.active) + " are active";
  // Half the bytes for each token hold twice as many.
  if (pool.fit < pool.active && !pool.kv_is_8_bit) text += "; fp8 KV would fit " + std::to_string(2 * pool.fit);
  return text;
}

namespace {
// Of the lineages that sit there: the mean of what each would be held for.
double usual_break_even_s(const WarmBook& book, ReplicaIndex index) {
  const Forecast forecast = book.forecast();
  double sum = 0, count = 0;
  for (const Seat& seat : book.replica(index).seats.all()) {
    const Lineage* const lineage = book.find(seat.lineage);
    if (!lineage || lineage->turns == 0) continue;
    sum += forecast.break_even_s(forecast.asking(*lineage), index);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

WarmReplicaState state_of(const WarmBook& book, ReplicaIndex index, TimePoint now) {
  const WarmReplica& its = book.replica(index);
  WarmReplicaState out;
  out.index = index;
  out.seats = static_cast<std::uint32_t>(its.seats.all().size());
  for (const Seat& seat : its.seats.all()) out.seats_idle += seat.in_flight == 0;
  out.unread = static_cast<std::uint32_t>(its.backlog.turns());
  out.seat_tokens = its.seats.taken();
  out.told = its.size.told();
  out.capacity = its.capacity;
  out.is_learnt = its.size.is_learnt();
  out.share = its.size.net().share();
  out.steps_down = its.size.net().steps_down();
  out.keeps_prefixes = its.keeps_prefixes();
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
  out.backlog_s = its.backlog.seconds(now);
  out.break_even_s = usual_break_even_s(book, index);
  out.output = its.learnt.output();
  out.growth = its.learnt.growth();
  out.hit_step = its.learnt.step();
  out.hits_expected = its.hits_expected;
  out.hits_missed = its.hits_missed;
  out.emptied = its.emptied;
  return out;
}
}  // namespace

std::vector<WarmReplicaState> Fleet::warm_replicas(TimePoint now) const {
  std::vector<WarmReplicaState> all;
  for (ReplicaIndex index = 0; index < state_->book.facts().replicas.size(); ++index) {
    if (state_->replicas.row(index).state.retired || !state_->replicas.row(index).state.rank) continue;
    all.push_back(state_of(state_->book, index, std::max(now, state_->now)));
  }
  return all;
}

namespace {
// The sessions that are active, summed up.
struct WorkingSet {
  WarmPoolState& out;
  Tokens largest_head;

  void add(Tokens context, Tokens head) {
    head = std::min(head, context);
    largest_head = std::max(largest_head, head);
    ++out.active;
    out.working_set += context - head;
  }
};

// Heads count once a replica.
void reckon(WorkingSet& set, std::size_t replicas) {
  WarmPoolState& out = set.out;
  if (out.active == 0) return;
  const Tokens heads{set.largest_head.count * static_cast<std::int64_t>(replicas)};
  const std::int64_t own = std::max<std::int64_t>(out.working_set.count / out.active, 1);
  out.fit = static_cast<std::uint32_t>(std::max<std::int64_t>((out.capacity - heads).count, 0) / own);
  out.working_set += std::max(heads, set.largest_head);
}
}  // namespace

WarmPoolState Fleet::warm_pool(PoolIndex pool, TimePoint now) const {
  const State& state = *state_;
  const WarmBook& book = state.book;
  const TimePoint then = std::max(now, state.now);
  WarmPoolState out;
  WorkingSet set{out, {}};
  for (std::uint32_t dialect = 0; dialect < dialects; ++dialect)
    if (const TokensPerByte& ratio = book.facts().ratios.of(pool, dialect); ratio.samples() > 0)
      out.ratios.push_back({dialect, ratio.value(), ratio.samples()});

  const auto is_known = [&](const Lineage& lineage) {
    return lineage.context > Tokens{} && (lineage.in_flight > 0 || then - lineage.last_end <= active_for);
  };
  book.facts().lineages.for_each([&](const SessionKey&, const Lineage& lineage) {
    if (lineage.pool == pool && is_known(lineage)) set.add(lineage.context, book.facts().heads.size(lineage.head));
  });
  const WaitingRoom& room = state.waiting.at(pool);
  out.waiting = room.queue.size();
  for (const auto& [key, id] : room.queue) {
    const Request& waiter = state.requests.at(id);
    out.longest_wait_s = std::max(out.longest_wait_s, to_seconds(then - waiter.arrived));
    const Lineage* const lineage = book.find(waiter.reading.lineage);
    if (!lineage || !is_known(*lineage)) set.add(waiter.reading.prompt, book.facts().heads.size(waiter.reading.head));
  }
  std::size_t replicas = 0;
  out.keeps_prefixes = state.one_keeps_prefixes(pool);
  out.kv_is_8_bit = !state.replicas.engines_of(pool).empty();
  for (const EngineIndex index : state.replicas.engines_of(pool)) {
    const Engine& engine = state.replicas.engine(index);
    out.kv_is_8_bit = out.kv_is_8_bit && engine.kv_is_8_bit;
    if (!engine.health.up()) continue;
    for (const ReplicaIndex row : engine.rank_rows) {
      out.capacity += book.replica(row).capacity.value_or(Tokens{});
      ++replicas;
      // A first turn under way: nothing of it has been counted yet.
      for (const Seat& seat : book.replica(row).seats.all())
        if (const Lineage* const lineage = book.find(seat.lineage);
            seat.in_flight > 0 && lineage && lineage->context <= Tokens{})
          set.add(seat.own, {});
    }
  }
  reckon(set, replicas);
  return out;
}

std::size_t Fleet::heads_known() const { return state_->book.facts().heads.known(); }

std::vector<HeadState> Fleet::heads(std::size_t limit) const {
  const WarmFacts& facts = state_->book.facts();
  std::vector<HeadState> out;
  facts.heads.for_each([&](const SessionKey& key, Tokens size) {
    if (out.size() >= limit) return;
    const auto holds = [&](const WarmReplica& its) { return is_nearly(its.ledger.held(key), size); };
    const auto replicas = std::count_if(facts.replicas.begin(), facts.replicas.end(), holds);
    out.push_back({key, size, static_cast<std::uint32_t>(replicas)});
  });
  return out;
}

}  // namespace wg::fleet
