#include "bench/figures.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace wg::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::DoubleEq;
using testing::Optional;

TimePoint at(int ms) { return TimePoint(milliseconds(ms)); }

Turn turn(int began_ms, int first_ms, int ended_ms, std::int64_t prompt, std::int64_t cached, std::int64_t output) {
  Turn turn;
  turn.began = at(began_ms), turn.first_content = at(first_ms), turn.ended = at(ended_ms);
  turn.prompt = {prompt}, turn.cached = {cached}, turn.output = {output};
  return turn;
}

TEST(Quantile, is_one_of_the_values) {
  struct Case {
    std::vector<double> values;
    double share;
    std::optional<double> wanted;
  };
  for (const Case& c : {Case{{}, 0.5, std::nullopt}, Case{{7}, 0.95, 7}, Case{{3, 1, 2}, 0.5, 2}, Case{{1, 2}, 0.5, 2},
                        Case{{1, 2, 3, 4, 5}, 0.95, 5}, Case{{4, 1}, 0, 1}, Case{{4, 1}, 1, 4}}) {
    const auto got = quantile(c.values, c.share);
    ASSERT_EQ(got.has_value(), c.wanted.has_value());
    if (got) {
      EXPECT_DOUBLE_EQ(*got, *c.wanted);
    }
  }
}

TEST(Figures, of_nothing_are_empty_and_not_zero) {
  const Row row = figures({}, 1);
  EXPECT_EQ(row.turns, 0u);
  EXPECT_FALSE(row.ttfb_p50_s || row.prefix_hit_share || row.stayed_share || row.replicas_busy || row.preemptions);
  const auto json = nlohmann::json::parse(json_of(row));
  EXPECT_TRUE(json["ttfb_p50_s"].is_null());
  EXPECT_EQ(json["sessions_per_hour"], 0);
}

TEST(Figures, of_two_turns) {
  Measured seen;
  seen.began = at(0), seen.ended = at(60'000);
  seen.turns = {turn(0, 1'000, 5'000, 1'000, 0, 100), turn(6'000, 6'500, 9'000, 1'500, 1'000, 50)};
  seen.turns[1].stayed = true;
  seen.sessions = {{at(0), at(9'000)}};
  seen.busy = {1, 2, 2, 3};
  const Row row = figures(seen, 1);
  EXPECT_THAT(row.ttfb_p50_s, Optional(DoubleEq(1.0)));
  EXPECT_THAT(row.ttfb_mean_s, Optional(DoubleEq(0.75)));
  EXPECT_THAT(row.prefix_hit_share, Optional(DoubleEq(0.4)));
  EXPECT_THAT(row.stayed_share, Optional(DoubleEq(1.0)));
  EXPECT_THAT(row.replicas_busy, Optional(DoubleEq(2.0)));
  EXPECT_THAT(row.session_time_p50_s, Optional(DoubleEq(9.0)));
  EXPECT_DOUBLE_EQ(row.sessions_per_hour, 60);
  EXPECT_DOUBLE_EQ(row.output_tokens_per_min, 150);
}

// Ten times faster machines: what took a second counts as ten, and a minute of load as ten minutes.
TEST(Figures, are_in_the_time_of_the_modelled_machine) {
  Measured seen;
  seen.began = at(0), seen.ended = at(60'000);
  seen.turns = {turn(0, 1'000, 5'000, 1'000, 0, 100)};
  seen.turns[0].waited = milliseconds(20);
  seen.sessions = {{at(0), at(5'000)}};
  const Row row = figures(seen, 10);
  EXPECT_THAT(row.ttfb_p50_s, Optional(DoubleEq(10.0)));
  EXPECT_THAT(row.session_time_p95_s, Optional(DoubleEq(50.0)));
  EXPECT_THAT(row.wait_p95_s, Optional(DoubleEq(0.2)));
  EXPECT_DOUBLE_EQ(row.sessions_per_hour, 6);
  EXPECT_DOUBLE_EQ(row.output_tokens_per_min, 10);
}

TEST(Figures, leave_unmeasured_prompts_out_of_the_hits) {
  Measured seen;
  seen.began = at(0), seen.ended = at(1'000);
  seen.turns = {turn(0, 1, 2, 1'000, 500, 1), turn(0, 1, 2, 0, 0, 1)};
  seen.turns[1].measured = false;
  EXPECT_THAT(figures(seen, 1).prefix_hit_share, Optional(DoubleEq(0.5)));
}

TEST(Figures, have_the_names_that_scripts_read) {
  Row row;
  row.target = "demo", row.policy = "sticky", row.sessions = 8;
  std::vector<std::string> names;
  const auto json = nlohmann::ordered_json::parse(json_of(row));
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("target", "policy", "sessions", "sessions_per_hour", "output_tokens_per_min",
                                          "ttfb_p50_s", "ttfb_p95_s", "ttfb_mean_s", "replicas_busy",
                                          "prefix_hit_share", "stayed_share", "session_time_p50_s",
                                          "session_time_p95_s", "wait_p95_s", "preemptions", "failures", "turns"));
}

}  // namespace
}  // namespace wg::bench
