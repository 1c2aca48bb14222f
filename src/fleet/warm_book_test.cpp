// The book's invariant: what a replica shows to those who ask is what it is, after whatever happens.
#include "fleet/warm_book.h"

#include <gtest/gtest.h>

#include <map>

#include "core/rng.h"
#include "fleet/test_driver.h"

namespace wg::fleet {

TEST(WarmBook, WhatAReplicaShowsIsWhatItIs) {
  constexpr ReplicaIndex replicas = 3;
  Rng rng(11);
  WarmBook book(64);
  const WarmRules rules;
  const EngineFound engine{0, {}, "model", 1, true, 32, Tokens{34'000}, true};
  for (ReplicaIndex at = 0; at < replicas; ++at) book.found(at, engine);
  TimePoint now{1s};
  std::map<RequestId, Reading> sent;
  const auto some_replica = [&] { return static_cast<ReplicaIndex>(rng.between(0, replicas - 1)); };
  const auto some_key = [&] { return key(static_cast<std::uint64_t>(rng.between(1, 100))); };

  for (RequestId id = 1; id <= 5'000; ++id) {
    now += from_seconds(rng.uniform());
    const auto seen = book.changes();
    switch (rng.between(0, 8)) {
      case 0:
      case 1: {
        RequestArrived asked;
        asked.session = asked.lineage = some_key();
        asked.head = key(1'000 + asked.session.high % 5);
        asked.prompt_estimate = {rng.between(100, 12'000)};
        book.arrived(sent[id], asked, {}, now);
        book.sent(id, sent[id], some_replica(), now);
        EXPECT_GT(book.changes(), seen);
        break;
      }
      case 2:
      case 3: {
        if (sent.empty()) break;
        auto& [request, reading] = *sent.begin();
        book.prefilled(request, reading, now);
        if (rng.uniform() < 0.8) {
          const Tokens cached{rng.between(0, reading.prompt.count)};
          book.reported(reading, {request, reading.prompt, cached, {200}, true, true, AnswerEnd::tool_call, 7});
        }
        book.ended(request, reading, now, rng.uniform() < 0.9, rules);
        sent.erase(request);
        break;
      }
      case 4:
        book.expire_seats(some_replica(), now);
        break;
      case 5:
        book.make_room(some_replica(), {rng.between(0, 20'000)});
        break;
      case 6:
        rng.uniform() < 0.5 ? book.unseat(some_key()) : book.forget(some_key());
        break;
      case 7:
        book.child_came(some_key(), rules);
        break;
      default:
        if (rng.uniform() < 0.1) book.unseat_idle(some_replica());
        book.sampled(some_replica(), {0, 0, 2, 1, 0.4}, rules);
    }
    ASSERT_LE(book.changes() - seen, WarmBook::changes_known);
    for (ReplicaIndex at = 0; at < replicas; ++at)
      ASSERT_EQ(book.standing(at), book.replica(at).standing()) << "request " << id;
  }
  EXPECT_GT(sent.size(), 0u);
}

}  // namespace wg::fleet
