#include "fleet/warm_book.h"

#include <algorithm>
#include <cmath>

#include "core/assert.h"
#include "policy/break_even.h"

namespace wg::fleet {

namespace {
// A capacity that nobody told and nothing has shown yet: as good as none, and sums of it do not overflow.
constexpr Tokens unknown_capacity{1'000'000'000'000};

constexpr std::size_t most_seats = 1'024;  // far more than an engine runs: tiny contexts need no protection

bool is_nearly(Tokens part, Tokens whole) { return part.count * 10 >= whole.count * 9; }
}  // namespace

WarmReplica& WarmBook::replica(ReplicaIndex index) {
  if (index >= replicas_.size()) replicas_.resize(index + 1);
  return replicas_[index];
}

void WarmBook::found(ReplicaIndex index, const EngineFound& engine) {
  WarmReplica& its = replica(index);
  its.size.tell(engine.kv_capacity);
  its.keeps.tell(engine.prefix_caching);
  resize_ledger(its);
}

void WarmBook::sampled(ReplicaIndex index, const ReplicaSampled& sample, const WarmRules& rules) {
  WarmReplica& its = replica(index);
  if (its.counters.look(sample.prefix_queries, sample.prefix_hits, !its.unread.empty())) its.ledger.forget_idle();
  const double more = its.preemptions < 0 ? 0 : sample.preemptions - its.preemptions;
  its.preemptions = sample.preemptions;
  if (more > 0 && rules.holds_seats && rules.safety_net) its.size.net().preempted(more);
}

// Where nobody tells a size the shadow is larger than what is believed, so that what stays beyond it is seen.
void WarmBook::resize_ledger(WarmReplica& at) {
  std::optional<Tokens> size = at.capacity = at.size.value();
  if (size && at.size.is_learnt()) size->count += size->count / 4;
  at.ledger.set_capacity(size);
}

Lineage& WarmBook::lineage(const SessionKey& key, const RequestArrived& asked) {
  if (Lineage* const known = lineages_.touch(key)) return *known;
  Lineage made;
  made.head = asked.head;
  made.pool = asked.pool;
  made.wait.client = asked.client;
  return lineages_.put(key, made, [this](const SessionKey& old, const Lineage& evicted) {
    if (evicted.home != no_replica) replica(evicted.home).seats.unseat(old);
  });
}

TokensPerByte& WarmBook::ratio_of(PoolIndex pool, std::uint32_t dialect) {
  if (pool >= ratios_.size()) ratios_.resize(pool + 1);
  return ratios_[pool][std::min(dialect, dialects - 1)];
}

const TokensPerByte& WarmBook::tokens_per_byte(PoolIndex pool, std::uint32_t dialect) const {
  static const TokensPerByte nothing_learnt;
  return pool < ratios_.size() && dialect < dialects ? ratios_[pool][dialect] : nothing_learnt;
}

// What the engine counted of the turn before, and the text that has come since.
Tokens WarmBook::estimate(const RequestArrived& asked, const Lineage& lineage) {
  if (asked.text_bytes <= 0) return asked.prompt_estimate;
  const TokensPerByte& ratio = ratio_of(asked.pool, asked.dialect);
  if (lineage.text_bytes <= 0) return ratio.of(asked.text_bytes);
  if (asked.text_bytes >= lineage.text_bytes) return lineage.prompt + ratio.of(asked.text_bytes - lineage.text_bytes);
  const double kept = static_cast<double>(asked.text_bytes) / static_cast<double>(lineage.text_bytes);
  return {static_cast<std::int64_t>(kept * static_cast<double>(lineage.prompt.count))};
}

void WarmBook::arrived(Reading& reading, const RequestArrived& asked, std::span<const SessionKey> parents,
                       TimePoint now) {
  reading.lineage = asked.lineage ? asked.lineage : asked.session;
  reading.head = asked.head;
  reading.pool = asked.pool;
  reading.dialect = asked.dialect;
  reading.text_bytes = asked.text_bytes;
  reading.wait.client = asked.client;
  Tokens largest;
  for (const SessionKey& key : parents)
    if (const Lineage* const parent = lineages_.peek(key); parent && heads_.size(parent->head) > largest) {
      largest = heads_.size(parent->head);
      reading.parent_head = parent->head == reading.head ? SessionKey{} : parent->head;
    }
  Lineage& its = lineage(reading.lineage, asked);
  reading.prompt = std::max(estimate(asked, its), Tokens{1});
  if (its.is_away) gaps_.came_back(its.gaps, its.wait, to_seconds(now - its.last_end));
  its.is_away = false;
}

Tokens WarmBook::capacity(ReplicaIndex at) const { return replicas_[at].capacity.value_or(unknown_capacity); }

Asking WarmBook::asking(const Reading& reading) const {
  Asking out{&reading, lineages_.peek(reading.lineage), heads_.size(reading.head), 0};
  if (out.lineage) out.gap_s = gaps_.expected_s(out.lineage->gaps, out.lineage->wait);
  return out;
}

Tokens WarmBook::expected_cached(const Asking& asking, ReplicaIndex at) const {
  if (!keeps_prefixes(at)) return {};
  const Reading& reading = *asking.reading;
  const Ledger& ledger = replicas_[at].ledger;
  const Tokens head = asking.head, head_there = head > Tokens{} ? ledger.held(reading.head) : Tokens{};
  Tokens cached = std::min(head, head_there);
  if (asking.lineage && asking.lineage->may_be_at(at) && is_nearly(head_there, head))
    cached += ledger.held(reading.lineage);
  if (cached == Tokens{} && reading.parent_head) {
    const double shared = parent_share_.value_or(0) * static_cast<double>(ledger.held(reading.parent_head).count);
    cached.count = static_cast<std::int64_t>(shared);
  }
  cached = std::min(cached, reading.prompt - Tokens{1});  // an engine computes at least one token
  if (const Tokens step = replicas_[at].learnt.step(); step > Tokens{1}) cached.count -= cached.count % step.count;
  return std::max(cached, Tokens{});
}

Tokens WarmBook::need_now(const Asking& asking, ReplicaIndex at) const {
  const Reading& reading = *asking.reading;
  const WarmReplica& its = replicas_[at];
  const Tokens whole = reading.prompt + its.learnt.output();
  if (asking.head <= Tokens{} || !its.seats.counts_head(reading.head)) return whole;
  return whole - std::min(asking.head, reading.prompt);
}

// A resident grows with each turn of its quantum. Without room for that, residents outgrow the cache together. Who
// leaves after this turn needs none. At most as much again as it has: where turns take next to no time a quantum has
// thousands of them, and one seat would take the cache.
Tokens WarmBook::reserve(const Asking& asking, ReplicaIndex at) const {
  const double growth = static_cast<double>(replicas_[at].learnt.growth().count);
  if (growth <= 0 || !asking.lineage || !stays(*asking.lineage, at, asking.gap_s)) return {};
  const Seat* const seat = replicas_[at].seats.find(asking.reading->lineage);
  const double turns_left = quantum(at, asking.reading->prompt, asking.gap_s) - (seat ? seat->turns : 0) - 1;
  return std::min(Tokens{static_cast<std::int64_t>(std::max(turns_left, 0.0) * growth)}, asking.reading->prompt);
}

Outlook WarmBook::outlook(const Asking& asking, ReplicaIndex at) const {
  const policy::PrefillModel& model = replicas_[at].learnt.prefill();
  Outlook out;
  out.cached = expected_cached(asking, at);
  out.need = need_now(asking, at) + reserve(asking, at);
  out.read_s = policy::prefill_s(model, asking.reading->prompt - out.cached, out.cached) - model.base_s;
  return out;
}

policy::WarmGlance WarmBook::glance(const Asking& asking, ReplicaIndex at) const {
  const WarmReplica& its = replicas_[at];
  policy::WarmGlance out;
  out.in_flight = its.seats.in_flight();
  out.unread = static_cast<std::uint32_t>(its.unread.size());
  out.room = capacity(at) - its.seats.taken();
  out.leaving = its.seats.leaving();
  out.need_at_least = asking.reading->prompt + its.learnt.output() - std::min(asking.head, asking.reading->prompt);
  return out;
}

double WarmBook::reread_s(const Reading& reading, ReplicaIndex at) const {
  const policy::PrefillModel& model = replicas_[at].learnt.prefill();
  return policy::prefill_s(model, reading.prompt, {}) - model.base_s;
}

double WarmBook::reading_ahead_s(const Reading& reading) const {
  const Asking its_asking = asking(reading);
  const Lineage* const lineage = its_asking.lineage;
  if (!lineage || replicas_.empty()) return 0;
  const bool has_home = lineage->home != no_replica;
  const ReplicaIndex at = has_home ? lineage->home : 0;
  if (stays(*lineage, at, its_asking.gap_s)) return 0;
  return has_home ? outlook(its_asking, at).read_s : reread_s(reading, at);
}

double WarmBook::quantum(ReplicaIndex at, Tokens context, double gap_s) const {
  const WarmReplica& its = replicas_[at];
  const double reread_s = policy::prefill_s(its.learnt.prefill(), context, {});
  return policy::quantum_turns(policy::WarmMode::latency, reread_s, its.learnt.turn_s() + gap_s)
      .value_or(policy::least_quantum);
}

double WarmBook::break_even_s(ReplicaIndex at, const Lineage& lineage, double gap_s) const {
  const WarmReplica& its = replicas_[at];
  const policy::PrefillModel& model = its.learnt.prefill();
  const Tokens head = heads_.size(lineage.head), own = std::max(lineage.context - head, Tokens{1});
  policy::ServiceFacts facts;
  facts.residents = std::floor(static_cast<double>((capacity(at) - head).count) / static_cast<double>(own.count));
  facts.reread_s = policy::prefill_s(model, own, head) - model.base_s;
  facts.decode_s = its.learnt.decode_s();
  facts.hit_service_s = its.learnt.hit_service_s();
  facts.quantum = policy::quantum_turns(policy::WarmMode::latency, facts.reread_s, its.learnt.turn_s() + gap_s)
                      .value_or(policy::least_quantum);
  return policy::break_even_s(facts);
}

// Whether its seat will be held for it behind the turn that it is in.
bool WarmBook::stays(const Lineage& lineage, ReplicaIndex at, double gap_s) const {
  return policy::is_worth_holding(break_even_s(at, lineage, gap_s), gap_s);
}

double WarmBook::crowd_s(ReplicaIndex at) const {
  return 2 * all_tokens_.each_more_s() * static_cast<double>(replicas_[at].learnt.output().count);
}

void WarmBook::sent(RequestId id, Reading& reading, ReplicaIndex at, TimePoint now) {
  WarmReplica& its = replica(at);
  const Asking its_asking = asking(reading);
  const Outlook its_outlook = outlook(its_asking, at);
  reading.cached = its_outlook.cached;
  reading.prefill_s = its_outlook.read_s;
  reading.was_cut = its_asking.lineage && !is_nearly(reading.prompt, its_asking.lineage->context);
  reading.copy_used = its.ledger.last_use(reading.lineage);
  reading.depth = its.size.told() ? std::nullopt : its.ledger.depth(reading.lineage);
  const Seat* const seat = its.seats.find(reading.lineage);
  reading.was_resident = seat && seat->in_flight == 0;
  its.counters.sent(id, !its.unread.empty());
  reading.at = at;
  reading.sent = now;
  reading.first_content_s = 0;
  reading.measured = false;
  reading.beside = its.seats.in_flight();
  reading.unread = true;
  its.unread.push_back(id);
  its.unread_s += reading.prefill_s;
  its.read_by = std::max(its.read_by, now) + from_seconds(reading.prefill_s);

  const bool has_own = its.ledger.held(reading.head) > Tokens{};
  const Tokens parent_there = reading.parent_head && !has_own ? its.ledger.held(reading.parent_head) : Tokens{};
  const Tokens head = std::min(its_asking.head, reading.prompt);
  const Tokens own = reading.prompt + its.learnt.output() - head, grows_by = reserve(its_asking, at);
  if (reading.head) its.ledger.take(reading.head, head);
  its.ledger.take(reading.lineage, own);
  its.seats.begin_turn(reading.lineage, reading.head, head, own + grows_by);
  reading.clean = its.unread.size() == 1 && its.seats.taken() <= capacity(at);

  Lineage* const lineage = lineages_.peek(reading.lineage);
  reading.is_new_there = lineage && !lineage->may_be_at(at);
  reading.parent_there = reading.is_new_there ? parent_there : Tokens{};
  if (!lineage) return;
  if (lineage->home != at && lineage->home != no_replica) replica(lineage->home).seats.unseat(reading.lineage);
  lineage->went_to(at);
  ++lineage->in_flight;
  its.seats.set_stays(reading.lineage, stays(*lineage, at, its_asking.gap_s));
}

void WarmBook::forget_unread(RequestId id, Reading& reading, WarmReplica& at, TimePoint now) {
  if (!reading.unread) return;
  reading.unread = false;
  std::erase(at.unread, id);
  at.unread_s = at.unread.empty() ? 0 : std::max(0.0, at.unread_s - reading.prefill_s);
  // They are read in turn: what is left begins now.
  at.read_by = now + from_seconds(at.unread_s);
}

void WarmBook::prefilled(RequestId id, Reading& reading, TimePoint now) {
  forget_unread(id, reading, replica(reading.at), now);
  if (reading.first_content_s == 0) reading.first_content_s = to_seconds(now - reading.sent);
}

void WarmBook::reported(Reading& reading, const UsageReported& usage) {
  reading.measured = usage.measured;
  reading.cached_measured = usage.measured && usage.cached_measured;
  reading.measured_prompt = std::max(usage.prompt, Tokens{});
  reading.measured_cached = std::clamp(usage.cached, Tokens{}, reading.measured_prompt);
  reading.measured_output = std::max(usage.output, Tokens{});
  reading.wait.end = usage.end;
  reading.wait.tool = usage.tool;
  if (usage.pause) reading.wait.told_s = static_cast<float>(to_seconds(*usage.pause));
}

void WarmBook::ended(RequestId id, Reading& reading, TimePoint now, bool came_to_its_end, const WarmRules& rules) {
  WarmReplica& its = replica(reading.at);
  forget_unread(id, reading, its, now);
  if (reading.measured) {
    look_up_cached(id, reading, its);
    if (reading.text_bytes > 0)
      ratio_of(reading.pool, reading.dialect).add(reading.text_bytes, reading.measured_prompt);
  }
  if (came_to_its_end && reading.measured) learn(reading, its, now, rules);
  const Tokens context = (reading.measured ? reading.measured_prompt : reading.prompt) + reading.measured_output;
  const Tokens head = std::min(heads_.size(reading.head), context);
  // What was read is there, also of an answer that broke off; of one that never began nothing is known.
  const bool was_read = reading.first_content_s > 0 || reading.measured;
  its.ledger.give_back(reading.lineage, was_read ? std::max(context - head, Tokens{}) : Tokens{});
  if (reading.head) its.ledger.give_back(reading.head, head);

  if (Lineage* const lineage = lineages_.peek(reading.lineage); lineage && lineage->in_flight > 0) {
    --lineage->in_flight;
    ++lineage->turns;
    if (lineage->context.count > 0 && context > lineage->context) its.learnt.grew(context - lineage->context);
    lineage->context = context;
    if (reading.measured) {
      lineage->text_bytes = reading.text_bytes;
      lineage->prompt = reading.measured_prompt;
    }
    lineage->wait = reading.wait;
    lineage->last_end = now;
    lineage->is_away = lineage->in_flight == 0;
  }
  if (Seat* const seat = its.seats.end_turn(reading.lineage); seat && seat->in_flight == 0) {
    if (came_to_its_end)
      keep_or_yield(*seat, reading, now, rules);
    else
      its.seats.unseat(reading.lineage);
  }
  reading.at = no_replica;
}

// Where the answer does not say it, the engine's counters may.
void WarmBook::look_up_cached(RequestId id, Reading& reading, WarmReplica& at) {
  if (reading.cached_measured) return void(++at.told_by_answer);
  const std::optional<Tokens> counted = at.counters.cached_of(id, reading.measured_prompt);
  if (!counted) return;
  ++at.told_by_counters;
  reading.measured_cached = *counted;
  reading.cached_measured = true;
}

void WarmBook::learn(const Reading& reading, WarmReplica& at, TimePoint now, const WarmRules& rules) {
  if (reading.clean && reading.cached_measured && reading.first_content_s > 0)
    all_.add(reading.measured_prompt - reading.measured_cached, reading.measured_cached, reading.first_content_s);
  at.learnt.add({.prompt = reading.measured_prompt,
                 .cached = reading.measured_cached,
                 .output = reading.measured_output,
                 .cached_measured = reading.cached_measured,
                 .first_content_s = reading.first_content_s,
                 .whole_s = to_seconds(now - reading.sent),
                 .beside = reading.beside,
                 .clean = reading.clean},
                &all_, &all_tokens_);
  if (!reading.cached_measured) return;
  if (reading.parent_there > Tokens{})
    parent_share_.add(std::min(
        static_cast<double>(reading.measured_cached.count) / static_cast<double>(reading.parent_there.count), 1.0));
  else if (reading.is_new_there)
    heads_.found(reading.head, reading.measured_cached);
  if (!reading.was_cut) at.keeps.turn(reading.cached, reading.measured_cached);
  if (rules.correct_ledger) correct(reading, at, now, rules);
}

void WarmBook::keep_or_yield(Seat& seat, const Reading& reading, TimePoint now, const WarmRules& rules) {
  WarmReplica& its = replica(reading.at);
  const Lineage* const lineage = lineages_.peek(reading.lineage);
  // Where the cache's size is not known nobody can say what fits, so nobody waits and no seat needs to be held.
  const bool holds = rules.holds_seats && rules.mode != policy::WarmMode::fair_tail && its.capacity &&
                     !its.keeps.no() && its.seats.all().size() <= most_seats;
  if (!lineage || lineage->home != reading.at || !holds) return its.seats.unseat(reading.lineage);
  const double gap_s = gaps_.expected_s(lineage->gaps, lineage->wait);
  const double even_s = rules.gate ? break_even_s(reading.at, *lineage, gap_s) : GapModel::longest_s;
  if (!policy::is_worth_holding(even_s, gap_s)) return its.seats.unseat(reading.lineage);
  seat.idle_since = now;
  seat.held_until = now + from_seconds(policy::hold_s(even_s, gap_s));
  seat.back_in_s = gap_s;
  const policy::PrefillModel& model = its.learnt.prefill();
  seat.reread_s = policy::prefill_s(model, lineage->context, {}) - model.base_s;
}

// The cache is a stack: what was used before a copy that is gone has gone before it. A prompt that became shorter or
// was edited misses too, and says nothing of the kind: only a miss of more than half of what should be there does.
void WarmBook::correct(const Reading& reading, WarmReplica& at, TimePoint now, const WarmRules& rules) {
  if (reading.copy_used == 0 || reading.cached.count < 256) return;
  ++at.hits_expected;
  if (reading.was_cut || reading.measured_prompt < reading.cached) return;
  const bool is_gone = reading.measured_cached.count * 2 < reading.cached.count;
  if (reading.depth && is_gone) at.size.seen().gone(*reading.depth);
  if (reading.depth && is_nearly(reading.measured_cached, reading.cached)) at.size.seen().found(*reading.depth);
  if (reading.was_resident && rules.holds_seats && rules.safety_net)
    at.size.net().resident(reading.cached, reading.measured_cached, now);
  resize_ledger(at);
  if (!is_gone) return;
  ++at.hits_missed;
  at.ledger.drop_older_than(reading.copy_used);
}

void WarmBook::forget(const SessionKey& key) {
  unseat(key);
  lineages_.erase(key);
}

void WarmBook::unseat(const SessionKey& key) {
  const Lineage* const lineage = lineages_.peek(key);
  if (lineage && lineage->home != no_replica) replica(lineage->home).seats.unseat(key);
}

}  // namespace wg::fleet
