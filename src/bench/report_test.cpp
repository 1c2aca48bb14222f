#include "bench/report.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace wg::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

BenchResult one_row() {
  BenchResult result;
  TargetFacts facts;
  facts.name = "ours", facts.url = "http://h:1", facts.model = "m";
  facts.calibration.bytes_per_token = 3.5;
  facts.calibration.measured = true;
  facts.engines = 1, facts.ranks = 4;
  facts.hits_from = "engines", facts.stayed_from = "answers";
  result.targets.push_back(facts);
  sim::LoopRow row;
  row.ttfb_p50_s = 1.25;
  row.turns = 40;
  row.prefix_hit_share = std::numeric_limits<double>::quiet_NaN();
  result.runs.push_back({{"ours", "sticky", 8, {row}}, {}});
  result.asked = 40;
  return result;
}

TEST(Report, says_where_figures_are_from) {
  const std::string text = text_of(one_row(), {});
  EXPECT_THAT(text, HasSubstr("ours: http://h:1, model m, 3.50 bytes a token (learnt from its usage)"));
  EXPECT_THAT(text, HasSubstr("prefix hits from the engines' counters"));
  EXPECT_THAT(text, HasSubstr("no turn failed"));
  EXPECT_THAT(text, Not(HasSubstr("interrupted")));
}

TEST(Report, failures_are_counted_by_kind) {
  BenchResult result = one_row();
  result.failed = 3, result.asked = 43;
  result.failures = {{"refused", 1}, {"status 503", 2}};
  result.last_failure = "status 503: busy";
  EXPECT_THAT(text_of(result, {}),
              HasSubstr("3 of 43 turns failed (7.0 %): 1 x refused, 2 x status 503; the last: status 503: busy"));
  EXPECT_GT(failed_share(result), failures_allowed);
}

TEST(Report, json_has_rows_as_simulate_has_them_and_more) {
  BenchResult result = one_row();
  result.interrupted = true;
  result.last_failure = "bad \xff byte";
  const auto page = nlohmann::json::parse(json_of(result, {}));
  EXPECT_EQ(page["rows"][0]["policy"], "sticky");
  EXPECT_EQ(page["rows"][0]["ttfb_p50_s"], 1.25);
  EXPECT_TRUE(page["rows"][0]["prefix_hit_share"].is_null());
  EXPECT_EQ(page["targets"][0]["bytes_per_token"], 3.5);
  EXPECT_EQ(page["interrupted"], true);
  EXPECT_EQ(page["failed_share"], 0.0);
}

TEST(Report, a_page_of_its_own) {
  const std::string page = html_of(one_row(), {});
  EXPECT_THAT(page, HasSubstr("Measured: ours"));
  EXPECT_THAT(page, HasSubstr("3.50 bytes a token"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(Report, nothing_measured_is_no_crash) {
  EXPECT_THAT(text_of({}, {}), HasSubstr("no turn failed"));
  EXPECT_EQ(nlohmann::json::parse(json_of({}, {}))["rows"].size(), 0u);
}

TEST(Progress, one_line) {
  Standing standing;
  standing.what = "sticky, 8 sessions";
  standing.done = 0.25;
  standing.left = std::chrono::seconds(125);
  standing.turns = 143;
  EXPECT_EQ(progress_line(standing), "[#####...............]  25 %  2:05 left  sticky, 8 sessions  143 turns");
  standing.failures = 2;
  standing.done = 7;
  EXPECT_THAT(progress_line(standing), HasSubstr("[####################] 100 %"));
  EXPECT_THAT(progress_line(standing), HasSubstr("143 turns, 2 failed"));
}

}  // namespace
}  // namespace wg::bench
