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

void WarmBook::set_capacity(ReplicaIndex index, std::optional<Tokens> capacity) {
  WarmReplica& its = replica(index);
  its.capacity = capacity;
  its.ledger.set_capacity(capacity);
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

void WarmBook::arrived(Reading& reading, const RequestArrived& asked, TimePoint now) {
  reading.lineage = asked.lineage ? asked.lineage : asked.session;
  reading.head = asked.head;
  reading.prompt = std::max(asked.prompt_estimate, Tokens{1});
  reading.wait.client = asked.client;
  Lineage& its = lineage(reading.lineage, asked);
  if (its.is_away) gaps_.came_back(its.gaps, its.wait, to_seconds(now - its.last_end));
  its.is_away = false;
}

Tokens WarmBook::capacity(ReplicaIndex at) const { return replicas_[at].capacity.value_or(unknown_capacity); }

Tokens WarmBook::expected_cached(const Reading& reading, ReplicaIndex at) const {
  const Ledger& ledger = replicas_[at].ledger;
  const Tokens head = heads_.size(reading.head), head_there = head > Tokens{} ? ledger.held(reading.head) : Tokens{};
  Tokens cached = std::min(head, head_there);
  const Lineage* const its = lineages_.peek(reading.lineage);
  if (its && its->may_be_at(at) && is_nearly(head_there, head)) cached += ledger.held(reading.lineage);
  cached = std::min(cached, reading.prompt - Tokens{1});  // an engine computes at least one token
  if (const Tokens step = replicas_[at].learnt.step(); step > Tokens{1}) cached.count -= cached.count % step.count;
  return std::max(cached, Tokens{});
}

Tokens WarmBook::need_now(const Reading& reading, ReplicaIndex at) const {
  const WarmReplica& its = replicas_[at];
  const Tokens whole = reading.prompt + its.learnt.output();
  return its.seats.counts_head(reading.head) ? whole - std::min(heads_.size(reading.head), reading.prompt) : whole;
}

// A resident grows with each turn of its quantum. Without room for that, residents outgrow the cache together. Who
// leaves after this turn needs none.
Tokens WarmBook::reserve(const Reading& reading, ReplicaIndex at) const {
  const Lineage* const lineage = lineages_.peek(reading.lineage);
  if (!lineage || !stays(*lineage, at)) return {};
  const Seat* const seat = replicas_[at].seats.find(reading.lineage);
  const double turns_left = quantum(at, *lineage, reading.prompt) - (seat ? seat->turns : 0) - 1;
  const double growth = static_cast<double>(replicas_[at].learnt.growth().count);
  return {static_cast<std::int64_t>(std::max(turns_left, 0.0) * growth)};
}

Tokens WarmBook::need(const Reading& reading, ReplicaIndex at) const {
  return need_now(reading, at) + reserve(reading, at);
}

double WarmBook::read_s(const Reading& reading, ReplicaIndex at) const {
  const policy::PrefillModel& model = replicas_[at].learnt.prefill();
  const Tokens cached = expected_cached(reading, at);
  return policy::prefill_s(model, reading.prompt - cached, cached) - model.base_s;
}

double WarmBook::reread_s(const Reading& reading, ReplicaIndex at) const {
  const policy::PrefillModel& model = replicas_[at].learnt.prefill();
  return policy::prefill_s(model, reading.prompt, {}) - model.base_s;
}

double WarmBook::quantum(ReplicaIndex at, const Lineage& lineage, Tokens context) const {
  const WarmReplica& its = replicas_[at];
  const double gap_s = gaps_.expected_s(lineage.gaps, lineage.wait);
  const double reread_s = policy::prefill_s(its.learnt.prefill(), context, {});
  return policy::quantum_turns(policy::WarmMode::latency, reread_s, its.learnt.turn_s() + gap_s)
      .value_or(policy::least_quantum);
}

double WarmBook::break_even_s(ReplicaIndex at, const Lineage& lineage) const {
  const WarmReplica& its = replicas_[at];
  const policy::PrefillModel& model = its.learnt.prefill();
  const Tokens head = heads_.size(lineage.head), own = std::max(lineage.context - head, Tokens{1});
  policy::ServiceFacts facts;
  facts.residents = std::floor(static_cast<double>((capacity(at) - head).count) / static_cast<double>(own.count));
  facts.reread_s = policy::prefill_s(model, own, head) - model.base_s;
  facts.decode_s = its.learnt.decode_s();
  facts.hit_service_s = its.learnt.hit_service_s();
  const double gap_s = gaps_.expected_s(lineage.gaps, lineage.wait);
  facts.quantum = policy::quantum_turns(policy::WarmMode::latency, facts.reread_s, its.learnt.turn_s() + gap_s)
                      .value_or(policy::least_quantum);
  return policy::break_even_s(facts);
}

// Whether its seat will be held for it behind the turn that it is in.
bool WarmBook::stays(const Lineage& lineage, ReplicaIndex at) const {
  return policy::is_worth_holding(break_even_s(at, lineage), gaps_.expected_s(lineage.gaps, lineage.wait));
}

double WarmBook::crowd_s(ReplicaIndex at) const {
  return 2 * all_tokens_.each_more_s() * static_cast<double>(replicas_[at].learnt.output().count);
}

void WarmBook::sent(RequestId id, Reading& reading, ReplicaIndex at, TimePoint now) {
  WarmReplica& its = replica(at);
  reading.cached = expected_cached(reading, at);
  reading.prefill_s = read_s(reading, at);
  reading.is_new_there = its.ledger.held(reading.lineage) == Tokens{};
  reading.copy_used = its.ledger.last_use(reading.lineage);
  reading.at = at;
  reading.sent = now;
  reading.first_content_s = 0;
  reading.measured = false;
  reading.beside = its.seats.in_flight();
  reading.unread = true;
  its.unread.push_back(id);
  its.unread_s += reading.prefill_s;
  its.read_by = std::max(its.read_by, now) + from_seconds(reading.prefill_s);

  const Tokens head = std::min(heads_.size(reading.head), reading.prompt);
  const Tokens own = reading.prompt + its.learnt.output() - head;
  if (reading.head) its.ledger.take(reading.head, head);
  its.ledger.take(reading.lineage, own);
  its.seats.begin_turn(reading.lineage, reading.head, head, own + reserve(reading, at));
  reading.clean = its.unread.size() == 1 && its.seats.taken() <= capacity(at);

  Lineage* const lineage = lineages_.peek(reading.lineage);
  if (!lineage) return;
  if (lineage->home != at && lineage->home != no_replica) replica(lineage->home).seats.unseat(reading.lineage);
  lineage->went_to(at);
  ++lineage->in_flight;
  its.seats.set_stays(reading.lineage, stays(*lineage, at));
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
}

void WarmBook::ended(RequestId id, Reading& reading, TimePoint now, bool came_to_its_end, const WarmRules& rules) {
  WarmReplica& its = replica(reading.at);
  forget_unread(id, reading, its, now);
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
  if (reading.is_new_there) heads_.found(reading.head, reading.measured_cached);
  if (rules.correct_ledger) correct(reading, at);
}

void WarmBook::keep_or_yield(Seat& seat, const Reading& reading, TimePoint now, const WarmRules& rules) {
  WarmReplica& its = replica(reading.at);
  const Lineage* const lineage = lineages_.peek(reading.lineage);
  // Where the cache's size is not known nobody can say what fits, so nobody waits and no seat needs to be held.
  const bool holds = rules.holds_seats && rules.mode != policy::WarmMode::fair_tail && its.capacity &&
                     its.seats.all().size() <= most_seats;
  if (!lineage || lineage->home != reading.at || !holds) return its.seats.unseat(reading.lineage);
  const double gap_s = gaps_.expected_s(lineage->gaps, lineage->wait);
  const double even_s = rules.gate ? break_even_s(reading.at, *lineage) : GapModel::longest_s;
  if (!policy::is_worth_holding(even_s, gap_s)) return its.seats.unseat(reading.lineage);
  seat.idle_since = now;
  seat.held_until = now + from_seconds(policy::hold_s(even_s, gap_s));
  seat.back_in_s = gap_s;
  const policy::PrefillModel& model = its.learnt.prefill();
  seat.reread_s = policy::prefill_s(model, lineage->context, {}) - model.base_s;
}

// The cache is a stack: what was used before a copy that is gone has gone before it. A prompt that became shorter or
// was edited misses too, and says nothing of the kind: only a miss of more than half of what should be there does.
void WarmBook::correct(const Reading& reading, WarmReplica& at) {
  if (reading.copy_used == 0 || reading.cached.count < 256) return;
  ++at.hits_expected;
  const bool was_cut = reading.measured_prompt < reading.cached;
  if (was_cut || reading.measured_cached.count * 2 >= reading.cached.count) return;
  ++at.hits_missed;
  at.ledger.drop_older_than(reading.copy_used);
}

void WarmBook::unseat(const SessionKey& key) {
  const Lineage* const lineage = lineages_.peek(key);
  if (lineage && lineage->home != no_replica) replica(lineage->home).seats.unseat(key);
}

}  // namespace wg::fleet
