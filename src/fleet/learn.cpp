#include "fleet/learn.h"

#include <algorithm>

namespace wg::fleet {
namespace {

// Where the answer does not say it, the engine's counters may.
void look_up_cached(RequestId id, Reading::Seen& seen, WarmReplica& at) {
  if (seen.cached_measured) return void(++at.told_by_answer);
  const std::optional<Tokens> counted = at.counters.cached_of(id, seen.prompt);
  if (!counted) return;
  ++at.told_by_counters;
  seen.cached = *counted;
  seen.cached_measured = true;
}

void learn_speed(const Reading& reading, TimePoint now, WarmReplica& at, WarmFacts& facts) {
  const Reading::Seen& seen = reading.seen;
  if (reading.expected.clean && seen.cached_measured && seen.first_content_s > 0)
    facts.all_reading.add(seen.prompt - seen.cached, seen.cached, seen.first_content_s);
  at.learnt.add({.prompt = seen.prompt,
                 .cached = seen.cached,
                 .output = seen.output,
                 .cached_measured = seen.cached_measured,
                 .first_content_s = seen.first_content_s,
                 .whole_s = to_seconds(now - reading.sent),
                 .beside = reading.expected.beside,
                 .clean = reading.expected.clean},
                &facts.all_reading, &facts.all_tokens);
}

// What a lineage that was new there found cached, others had left.
void learn_what_is_shared(const Reading& reading, WarmFacts& facts) {
  const double cached = static_cast<double>(reading.seen.cached.count);
  const Tokens parent_there = reading.expected.parent_there;
  if (parent_there > Tokens{})
    facts.parent_share.add(std::min(cached / static_cast<double>(parent_there.count), 1.0));
  else if (reading.expected.is_new_there)
    facts.heads.found(reading.head, reading.seen.cached);
}

// The cache is a stack: what was used before a copy that is gone has gone before it. A prompt that became shorter or
// was edited misses too, and says nothing of the kind: only a miss of more than half of what should be there does.
void correct(const Reading& reading, TimePoint now, const WarmRules& rules, WarmReplica& at) {
  const Reading::Expected& expected = reading.expected;
  const Tokens cached = reading.seen.cached;
  if (expected.copy_used == 0 || expected.cached.count < 256) return;
  ++at.hits_expected;
  if (expected.was_cut || reading.seen.prompt < expected.cached) return;
  const bool is_gone = cached.count * 2 < expected.cached.count;
  if (expected.depth && is_gone) at.size.seen().gone(*expected.depth);
  if (expected.depth && is_nearly(cached, expected.cached)) at.size.seen().found(*expected.depth);
  if (expected.was_resident && rules.holds_seats && rules.safety_net)
    at.size.net().resident(expected.cached, cached, now);
  at.size_changed();
  if (!is_gone) return;
  ++at.hits_missed;
  at.ledger.drop_older_than(expected.copy_used);
}

}  // namespace

void learn_from(RequestId id, Reading& reading, TimePoint now, bool came_to_its_end, const WarmRules& rules,
                WarmFacts& facts) {
  WarmReplica& at = facts.replicas[reading.at];
  look_up_cached(id, reading.seen, at);
  if (reading.text_bytes > 0) facts.ratios.add(reading.pool, reading.dialect, reading.text_bytes, reading.seen.prompt);
  if (!came_to_its_end) return;
  learn_speed(reading, now, at, facts);
  if (!reading.seen.cached_measured) return;
  learn_what_is_shared(reading, facts);
  if (!reading.expected.was_cut) at.keeps.turn(reading.expected.cached, reading.seen.cached);
  if (rules.correct_ledger) correct(reading, now, rules, at);
}

}  // namespace wg::fleet
