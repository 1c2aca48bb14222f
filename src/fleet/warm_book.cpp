#include "fleet/warm_book.h"

#include <algorithm>

#include "fleet/learn.h"
#include "policy/break_even.h"

namespace wg::fleet {

namespace {
constexpr std::size_t most_seats = 1'024;  // far more than an engine runs: tiny contexts need no protection
constexpr Tokens most_tokens{16'000'000};  // of one prompt or answer: far more than any model takes

// Before it is entered there: what it takes along is not to be taken for what it finds. `clean` is known after that.
Reading::Expected expected_of(const Reading& reading, const Asking& asking, const Outlook& outlook, ReplicaIndex at,
                              const WarmReplica& its) {
  const Seat* const seat = its.seats.find(reading.lineage);
  Reading::Expected out;
  out.cached = outlook.cached;
  out.copy_used = its.ledger.last_use(reading.lineage);
  out.depth = its.size.told() ? std::nullopt : its.ledger.depth(reading.lineage);
  out.was_resident = seat && seat->in_flight == 0;
  out.is_new_there = asking.lineage && !asking.lineage->may_be_at(at);
  out.was_cut = asking.lineage && !is_nearly(reading.prompt, asking.lineage->context);
  out.beside = its.seats.in_flight();
  const bool has_own_head = its.ledger.held(reading.head) > Tokens{};
  if (out.is_new_there && reading.parent_head && !has_own_head) out.parent_there = its.ledger.held(reading.parent_head);
  return out;
}
}  // namespace

void WarmBook::changed(ReplicaIndex at) {
  Standing& its = facts_.standings[at];
  const std::optional<Tokens> capacity = its.capacity;
  its = facts_.replicas[at].standing();
  changed_[++changes_ % changes_known] = at;
  if (its.capacity != capacity) last_resize_ = changes_;
}

void WarmBook::found(ReplicaIndex at, const EngineFound& engine) {
  if (at >= facts_.replicas.size()) {
    facts_.replicas.resize(at + 1);
    facts_.standings.resize(at + 1);
  }
  facts_.replicas[at].found(engine);
  changed(at);
}

void WarmBook::sampled(ReplicaIndex at, const ReplicaSampled& sample, const WarmRules& rules) {
  facts_.replicas[at].sampled(sample, rules);
  changed(at);
}

// Who is away from a replica that went down has no cache to come back to.
void WarmBook::unseat_idle(ReplicaIndex at) {
  facts_.replicas[at].seats.unseat_idle();
  changed(at);
}

void WarmBook::expire_seats(ReplicaIndex at, TimePoint now) {
  if (now < facts_.standings[at].first_expiry) return;
  facts_.replicas[at].seats.expire(now);
  changed(at);
}

void WarmBook::make_room(ReplicaIndex at, Tokens needed) {
  facts_.replicas[at].seats.make_room(needed, facts_.standings[at].seat_capacity());
  changed(at);
}

Lineage& WarmBook::lineage_of(const SessionKey& key, const RequestArrived& asked) {
  if (Lineage* const known = facts_.lineages.touch(key)) return *known;
  Lineage made;
  made.head = asked.head;
  made.pool = asked.pool;
  made.wait.client = asked.client;
  made.kind = asked.kind;
  return facts_.lineages.put(key, made, [this](const SessionKey& old, const Lineage& evicted) {
    if (evicted.home != no_replica) unseat_at(evicted.home, old);
  });
}

// The largest: a title call beside the conversation has a small one.
SessionKey WarmBook::head_of_parent(const SessionKey& own_head, std::span<const SessionKey> parents) const {
  Tokens largest;
  SessionKey head;
  for (const SessionKey& key : parents)
    if (const Lineage* const parent = find(key); parent && facts_.heads.size(parent->head) > largest) {
      largest = facts_.heads.size(parent->head);
      head = parent->head;
    }
  return head == own_head ? SessionKey{} : head;
}

void WarmBook::arrived(Reading& reading, const RequestArrived& asked, std::span<const SessionKey> parents,
                       TimePoint now) {
  reading.lineage = asked.lineage ? asked.lineage : asked.session;
  reading.head = asked.head;
  reading.pool = asked.pool;
  reading.dialect = asked.dialect;
  reading.text_bytes = asked.text_bytes;
  reading.wait.client = asked.client;
  reading.parent_head = head_of_parent(asked.head, parents);
  Lineage& its = lineage_of(reading.lineage, asked);
  reading.prompt = std::max(forecast().prompt(asked, its), Tokens{1});
  if (its.is_away) facts_.gaps.came_back(its.gaps, its.wait, to_seconds(now - its.last_end));
  its.is_away = false;
}

void WarmBook::sent(RequestId id, Reading& reading, ReplicaIndex at, TimePoint now) {
  WarmReplica& its = facts_.replicas[at];
  const Asking asking = forecast().asking(reading);
  const Outlook outlook = forecast().outlook(asking, at);
  const Tokens head = std::min(asking.head, reading.prompt);
  const Tokens own = reading.prompt + standing(at).output - head, grows_by = forecast().reserve(asking, at);
  reading.at = at;
  reading.sent = now;
  reading.expected = expected_of(reading, asking, outlook, at, its);
  reading.seen = {};

  its.counters.sent(id, !its.backlog.empty());
  its.backlog.sent(id, outlook.read_s, now);
  if (reading.head) its.ledger.take(reading.head, head);
  // What its cache cannot hold an engine refuses, and throws nothing out for it.
  its.ledger.take(reading.lineage, own <= its.size.told().value_or(own) ? own : Tokens{});
  reading.seat = own + grows_by;
  its.seats.begin_turn(reading.lineage, reading.head, head, reading.seat);
  reading.expected.clean = its.backlog.turns() == 1 && its.seats.taken() <= standing(at).seat_capacity();
  if (Lineage* const lineage = facts_.lineages.peek(reading.lineage)) {
    if (lineage->home != at) unseat(reading.lineage);
    lineage->went_to(at);
    ++lineage->in_flight;
    its.seats.set_stays(reading.lineage, forecast().stays(asking, at));
  }
  changed(at);
}

void WarmBook::prefilled(RequestId id, Reading& reading, TimePoint now) {
  facts_.replicas[reading.at].backlog.read(id, now);
  changed(reading.at);
  if (reading.seen.first_content_s == 0) reading.seen.first_content_s = to_seconds(now - reading.sent);
}

// An answer that is longer than the cache that held it, or a prompt beyond any engine's: whatever was counted, to learn
// from it would keep everybody else out.
bool WarmBook::is_believable(const Reading& reading, const UsageReported& usage) const {
  const Tokens told = replica(reading.at).size.told().value_or(most_tokens);
  return usage.prompt <= most_tokens && usage.output <= std::min(told, most_tokens);
}

void WarmBook::reported(Reading& reading, const UsageReported& usage) {
  Reading::Seen& seen = reading.seen;
  seen.reported = true;
  seen.measured = seen.cached_measured = false;
  seen.prompt = seen.cached = seen.output = {};
  reading.wait.end = usage.end;
  reading.wait.tool = usage.tool;
  if (usage.pause) reading.wait.told_s = static_cast<float>(to_seconds(*usage.pause));
  if (!is_believable(reading, usage)) return;
  seen.measured = usage.measured;
  seen.cached_measured = usage.measured && usage.cached_measured;
  seen.prompt = std::max(usage.prompt, Tokens{});
  seen.cached = std::clamp(usage.cached, Tokens{}, seen.prompt);
  seen.output = std::max(usage.output, Tokens{});
}

void WarmBook::ended(RequestId id, Reading& reading, TimePoint now, bool came_to_its_end, const WarmRules& rules) {
  const ReplicaIndex at = reading.at;
  WarmReplica& its = facts_.replicas[at];
  const Reading::Seen& seen = reading.seen;
  its.backlog.read(id, now);
  if (seen.measured) learn_from(id, reading, now, came_to_its_end, rules, facts_);
  const Tokens context = (seen.measured ? seen.prompt : reading.prompt) + seen.output;
  const Tokens head = std::min(facts_.heads.size(reading.head), context);
  // What was read is there, also of an answer that broke off; of one that never began nothing is known.
  const bool was_read = seen.first_content_s > 0 || seen.measured, was_answered = was_read || seen.reported;
  its.ledger.give_back(reading.lineage, was_read ? std::max(context - head, Tokens{}) : Tokens{});
  if (reading.head) its.ledger.give_back(reading.head, head);
  end_turn(reading, context, was_answered, now);
  changed(at);  // what was learnt says for how long the seat is held
  if (Seat* const seat = its.seats.end_turn(reading.lineage, reading.seat); seat && seat->in_flight == 0) {
    if (came_to_its_end && was_answered)
      keep_or_yield(*seat, reading.at, rules);
    else
      its.seats.unseat(reading.lineage);
  }
  changed(at);
  reading.at = no_replica;
}

// An engine's refusal is no turn, and what it refused no context: it says nothing of what comes next.
void WarmBook::end_turn(const Reading& reading, Tokens context, bool was_answered, TimePoint now) {
  Lineage* const lineage = facts_.lineages.peek(reading.lineage);
  if (!lineage || lineage->in_flight == 0) return;
  --lineage->in_flight;
  if (!was_answered) return;
  ++lineage->turns;
  if (lineage->context.count > 0 && context > lineage->context)
    facts_.replicas[reading.at].learnt.grew(context - lineage->context);
  lineage->context = context;
  if (reading.seen.measured) {
    lineage->text_bytes = reading.text_bytes;
    lineage->prompt = reading.seen.prompt;
  }
  lineage->wait = reading.wait;
  lineage->last_end = now;
  lineage->is_away = lineage->in_flight == 0;
}

// Of an idle one; its pause began with the end of its last turn.
void WarmBook::keep_or_yield(Seat& seat, ReplicaIndex at, const WarmRules& rules) {
  WarmReplica& its = facts_.replicas[at];
  const SessionKey key = seat.lineage;
  const Lineage* const lineage = find(key);
  // Where the cache's size is not known nobody can say what fits, so nobody waits and no seat needs to be held.
  const bool holds = rules.holds_seats && rules.mode != policy::WarmMode::fair_tail && its.capacity &&
                     its.keeps_prefixes() && its.seats.all().size() <= most_seats;
  if (!lineage || lineage->is_done() || lineage->home != at || !holds) return void(its.seats.unseat(key));
  const Asking next = forecast().asking(*lineage);
  const double even_s = rules.gate ? forecast().break_even_s(next, at) : GapModel::longest_s;
  if (!policy::is_worth_holding(even_s, next.gap_s)) return void(its.seats.unseat(key));
  seat.idle_since = lineage->last_end;
  seat.held_until = lineage->last_end + from_seconds(policy::hold_s(even_s, next.gap_s));
  seat.back_in_s = next.gap_s;
  seat.reread_s = standing(at).read_s(lineage->context);
}

void WarmBook::child_came(const SessionKey& key, const WarmRules& rules) {
  Lineage* const its = facts_.lineages.peek(key);
  if (!its || !its->is_away || its->kind == RequestClass::background || its->wait.for_children) return;
  its->wait.for_children = true;
  if (its->home == no_replica) return;
  Seat* const seat = facts_.replicas[its->home].seats.idle(key);
  if (!seat) return;
  keep_or_yield(*seat, its->home, rules);
  changed(its->home);
}

void WarmBook::unseat(const SessionKey& key) {
  const Lineage* const lineage = find(key);
  if (lineage && lineage->home != no_replica) unseat_at(lineage->home, key);
}

void WarmBook::unseat_at(ReplicaIndex at, const SessionKey& lineage) {
  if (facts_.replicas[at].seats.unseat(lineage)) changed(at);
}

void WarmBook::forget(const SessionKey& key) {
  unseat(key);
  facts_.lineages.erase(key);
}

}  // namespace wg::fleet
