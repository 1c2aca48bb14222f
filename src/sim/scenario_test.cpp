// Every scenario of tests/scenario over the virtual driver, one test a file, and what the parser says of bad ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/scenario_parse.h"
#include "sim/scenario_run.h"

namespace wg::sim {
namespace {

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(WG_TEST_DATA "/../scenario"))
    if (entry.path().extension() == ".scn") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

class ScenarioFile : public testing::TestWithParam<std::string> {};

TEST_P(ScenarioFile, Passes) {
  const auto scenario = parse_scenario(text_of_file(GetParam()), std::filesystem::path(GetParam()).filename().string());
  ASSERT_TRUE(scenario) << scenario.error().what;
  const ScenarioResult result = run_scenario(*scenario);
  for (const std::string& failure : result.failures) ADD_FAILURE() << failure;
  if (!result.failures.empty())
    for (const std::string& line : result.log) std::cout << line << '\n';
  EXPECT_EQ(run_scenario(*scenario).digest, result.digest) << "the same seed gave other decisions";
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioFile, testing::ValuesIn(scenario_files()), [](const auto& file) {
  std::string name = std::filesystem::path(file.param).stem().string();
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST(Scenarios, AreAtLeastTwentyFive) { EXPECT_GE(scenario_files().size(), 25u); }

TEST(Scenarios, AFailedExpectationIsNamed) {
  const auto scenario =
      parse_scenario("fleet engines=2\nsession s1\nat 0s s1 turn expect route=sticky cached>=5\n", "x.scn");
  ASSERT_TRUE(scenario) << scenario.error().what;
  const ScenarioResult result = run_scenario(*scenario);
  ASSERT_EQ(result.failures.size(), 2u);
  EXPECT_EQ(result.failures[0].substr(0, 53), "x.scn:3: expected route=sticky, came: s1 ok 200 place");
}

struct Bad {
  const char* text;
  const char* error;
};
class BadLine : public testing::TestWithParam<Bad> {};

TEST_P(BadLine, IsRefusedWithItsPlace) {
  const auto scenario = parse_scenario(GetParam().text, "x.scn");
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().what.find('\n'), std::string::npos);
  EXPECT_EQ(scenario.error().what.substr(0, std::string_view(GetParam().error).size()), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadLine,
    testing::Values(
        Bad{"", "x.scn:0:1: the line 'fleet ...' is missing"}, Bad{"fleet\n", "x.scn:1:1: nothing happens"},
        Bad{"fleet\nsesion s1\n", "x.scn:2:1: a line begins with"},
        Bad{"fleet x=1\n", "x.scn:1:7: there is no 'x' here"},
        Bad{"fleet ranks=0\n", "x.scn:1:13: '0' must be a whole number from 1 to 16"},
        Bad{"fleet ranks=two\n", "x.scn:1:13: 'two' must be"},
        Bad{"fleet ranks=1 ranks=2\n", "x.scn:1:15: 'ranks' is given twice"},
        Bad{"fleet preset=a5000\n", "x.scn:1:14: unknown preset 'a5000'"},
        Bad{"fleet policy=fast\n", "x.scn:1:14: 'fast' is none of off"},
        Bad{"fleet spill>=2\n", "x.scn:1:7: write it as spill=VALUE"},
        Bad{"fleet\nfleet\n", "x.scn:2:1: there is one fleet only"},
        Bad{"fleet\nsession s1 key=x\n", "x.scn:2:16: 'x' is none of claude-code"},
        Bad{"fleet\nsession s1 parent=s0\n", "x.scn:2:19: there is no session 's0'"},
        Bad{"fleet\nsession s1\nsession s1\n", "x.scn:3:9: there is a session 's1' already"},
        Bad{"fleet\nsession S1\n", "x.scn:2:9: 'S1' is no session's name"},
        Bad{"fleet\nsession s8..s1\n", "x.scn:2:9: 's8..s1' is an empty range"},
        Bad{"fleet\nsession s1\nat s1 turn\n", "x.scn:3:4: 's1' is no time"},
        Bad{"fleet\nsession s1\nat 0s s2 turn\n", "x.scn:3:7: there is no session 's2'"},
        Bad{"fleet\nsession s1\nat 0s s1 dance\n", "x.scn:3:10: 'dance' is none of turn, title, rekey, compact"},
        Bad{"fleet\nsession s1\nat 0s s1 compact add=3\n", "x.scn:3:18: nothing follows compact"},
        Bad{"fleet\nsession s1\nat 0s s1 turn ends=badly\n", "x.scn:3:20: 'badly' is none of turn, tool"},
        Bad{"fleet\nsession s1 engine=e7\n", "x.scn:2:19: 'e7' is no engine"},
        Bad{"fleet\nsession s1\nat 0s s1 turn expect waited<=soon\n", "x.scn:3:30: 'soon' is no time"},
        Bad{"fleet\nsession s1\nat 0s s1 turn ad=3\n", "x.scn:3:15: there is no 'ad' here"},
        Bad{"fleet\nsession s1\nat 0s s1 turn expect rute=placed\n", "x.scn:3:27: 'rute' cannot be expected here"},
        Bad{"fleet\nsession s1\nat 0s s1 turn expect route=slow\n", "x.scn:3:28: 'slow' is no route"},
        Bad{"fleet\nsession s1\nat 0s s1 turn expect route>=placed\n", "x.scn:3:29: route is compared by"},
        Bad{"fleet\nsession s1\nat 0s s1 turn expect cached>5\n", "x.scn:3:28: a comparison is one of"},
        Bad{"fleet\nsession s1\nat 0s s1 turn fault=refuse\n", "x.scn:3:21: 'refuse' is no fault of a request"},
        Bad{"fleet\nat 0s fault kind=refuse\n", "x.scn:2:7: where? engine=e0"},
        Bad{"fleet\nat 0s fault engine=e1 kind=refuse\n", "x.scn:2:20: 'e1' is no engine"},
        Bad{"fleet\nat 0s fault engine=e0 kind=fire\n", "x.scn:2:28: 'fire' is none of refuse"},
        Bad{"fleet\nwith 1s policy off\n", "x.scn:2:6: after 'with' stands"},
        Bad{"fleet\nat 1x policy off\n", "x.scn:2:4: '1x' is no time"},
        Bad{"fleet\nat 0s policy\n", "x.scn:2:7: which policy?"}, Bad{"fleet\nat 0s until\n", "x.scn:2:7: until what?"},
        Bad{"fleet\nat 0s policy off\nend\n", "x.scn:3:1: write it as: end expect"},
        Bad{"fleet\nat 0s policy off\nend expect in_flight=0\nat 0s policy off\n", "x.scn:4:1: nothing may follow"}));

}  // namespace
}  // namespace wg::sim
