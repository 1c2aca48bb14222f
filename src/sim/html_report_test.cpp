#include "sim/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace wg::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LoopRow row(double p50) {
  LoopRow row;
  row.ttfb_p50_s = p50;
  row.ttfb_p95_s = 3 * p50;
  row.prefix_hit_share = 0.5;
  row.turns = 10;
  return row;
}

ReportPage page() {
  ReportPage page;
  page.title = "a <b> & \"c\"";
  page.facts = {{"Load", "agent"}};
  page.notes = {"read <this>"};
  page.replicas = {"e0/0", "e0/1"};
  for (const char* policy : {"off", "sticky"})
    for (const std::uint32_t sessions : {4u, 8u}) {
      ReportRun run;
      run.rows = {"box", policy, sessions, {row(0.5), row(1.5)}};
      for (int i = 1; i <= 400; ++i) run.samples.push_back({static_cast<double>(i), 1, 10, 20, {0.5, 1.0}});
      page.runs.push_back(run);
    }
  return page;
}

TEST(HtmlReport, LoadsNothingAndHasEveryFigure) {
  const std::string html = html_of(page());
  for (const char* outside : {"http:", "https:", "//", "<script", "@import", "<link", "<img"})
    EXPECT_THAT(html, Not(HasSubstr(outside))) << outside;
  EXPECT_THAT(html, HasSubstr("a &lt;b&gt; &amp; &quot;c&quot;"));
  EXPECT_THAT(html, HasSubstr("read &lt;this&gt;"));
  EXPECT_THAT(html, HasSubstr("<td>1.00<small>0.50 – 1.50</small></td>"));
  for (const Column& column : columns) EXPECT_THAT(html, HasSubstr(std::string("<th>") + column.head + "</th>"));
  EXPECT_THAT(html, HasSubstr("e0/1"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_EQ(html, html_of(page())) << "the same twice";
  EXPECT_LT(html.size(), 400'000u);
}

TEST(HtmlReport, EachTargetIsAnArmWhenThereAreSeveral) {
  ReportPage two = page();
  two.runs[2].rows.target = two.runs[3].rows.target = "other";
  EXPECT_THAT(html_of(two), HasSubstr("other sticky"));
  EXPECT_THAT(html_of(page()), Not(HasSubstr("box sticky")));
}

TEST(HtmlReport, StandsGapsAndEmptiness) {
  EXPECT_THAT(html_of({}), HasSubstr("</html>"));
  ReportPage gaps = page();
  gaps.runs[0].rows.seeds = {row(NAN)};
  gaps.runs[1].rows.seeds.clear();
  gaps.runs[2].samples.clear();
  gaps.runs[3].rows.seeds = {row(0)};
  const std::string html = html_of(gaps);
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace wg::sim
