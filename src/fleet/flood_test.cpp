// A million made-up session ids among living conversations: the table keeps its size, and nobody who is alive loses
// their home.
#include "fleet/sessions.h"
#include "fleet/test_driver.h"

namespace wg::fleet {

namespace {
// Each living session comes back after 100,000 made-up ones: far more than the table holds.
constexpr std::uint64_t flood = 1'000'000, living = 500, rounds = 10, stride = flood / rounds / living;

std::uint64_t made_up(std::uint64_t n) { return 1'000'000'000 + n; }
}  // namespace

TEST(Flood, OfMadeUpIdsLeavesLivingHomes) {
  Driver d(4, 2);
  std::vector<ReplicaIndex> homes;
  for (std::uint64_t s = 1; s <= living; ++s) homes.push_back(d.turn(s).replica);
  for (std::uint64_t s = 1; s <= living; ++s) EXPECT_EQ(d.turn(s).replica, homes[s - 1]);

  std::uint64_t moved = 0, next_living = 0;
  for (std::uint64_t n = 0; n < flood; ++n) {
    d.turn(made_up(n));
    if (n % stride != 0) continue;
    const Dispatch turn = d.turn(1 + next_living % living);
    moved += turn.route != policy::Route::sticky || turn.replica != homes[next_living % living];
    ++next_living;
    d.wait(1ms);  // 5 s in all: every made-up session still counts as active
  }
  EXPECT_EQ(next_living, rounds * living);
  EXPECT_EQ(moved, 0u);
  EXPECT_EQ(d.fleet.sessions_known(), 65'536u);
  EXPECT_EQ(d.fleet.requests_known(), 0u);
  EXPECT_EQ(d.in_flight(), 0u);
  std::uint64_t active = 0;
  for (const ReplicaState& replica : d.fleet.replicas(d.now)) active += replica.active_sessions;
  EXPECT_EQ(active, 65'536u);
  d.wait(61s);
  for (const ReplicaState& replica : d.fleet.replicas(d.now)) EXPECT_EQ(replica.active_sessions, 0u);
}

// Two turns for each made-up id are what makes them look alive: even then those that come back in time stay.
TEST(Flood, OfIdsThatComeTwiceLeavesThoseThatComeBackInTime) {
  Driver d(4);
  std::vector<ReplicaIndex> homes;
  for (int turn = 0; turn < 2; ++turn)
    for (std::uint64_t s = 1; s <= 100; ++s) homes.push_back(d.turn(s).replica);
  for (std::uint64_t n = 0; n < 200'000; ++n) {
    d.turn(made_up(n));
    d.turn(made_up(n));
    if (n % 400 == 0) {
      const std::uint64_t s = n / 400 % 100;
      EXPECT_EQ(d.turn(1 + s).replica, homes[s]);
    }
  }
  EXPECT_EQ(d.fleet.sessions_known(), 65'536u);
}

TEST(Flood, OfTurnsKeepsOneEndForEachSession) {
  SessionTable table(100, 60s);
  RequestArrived first;
  for (std::uint64_t n = 1; n <= 100'000; ++n) {
    first.session = key(n);
    Session& session = table.open(first);
    table.set_home(session, 0);
    table.begin_turn(session);
    table.end_turn(session, TimePoint{} + Duration(n));
    EXPECT_LE(table.ends_kept(), 201u);
  }
  EXPECT_EQ(table.active_at(0), 100u);
  table.expire(TimePoint{61s});
  EXPECT_EQ(table.active_at(0), 0u);
  EXPECT_EQ(table.ends_kept(), 0u);
}

}  // namespace wg::fleet
