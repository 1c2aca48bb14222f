#include "replica/metrics_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "replica/site.h"

namespace wg::replica {
namespace {

std::string sample() {
  std::ifstream file(std::string(WG_TEST_DATA) + "/engine-samples/vllm-dp2-metrics-full.txt");
  EXPECT_TRUE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string page(std::uint32_t ranks = 2) {
  net::Loop loop;
  Options options;
  options.ranks = ranks;
  options.model = "tiny";
  const auto site = std::make_shared<Site>(loop, options);
  return metrics_page(*site);
}

// "# TYPE ..." and "# HELP ..." lines in their order.
std::vector<std::string> comments(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("# ")) lines.push_back(line);
  return lines;
}

// "name{label,label}" of each sample; of the values of labels only those of engine, le and the enumerations are kept.
std::set<std::string> series(const std::string& text) {
  std::set<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#") || !line.starts_with("vllm:")) continue;
    std::string out = line.substr(0, line.find('{')) + "{";
    std::string_view labels(line);
    labels.remove_prefix(line.find('{') + 1);
    while (!labels.empty() && labels.front() != '}') {
      const std::size_t name_end = labels.find("=\""), end = labels.find('"', name_end + 2);
      const std::string_view name = labels.substr(0, name_end), value = labels.substr(name_end + 2, end - name_end - 2);
      const bool enumerated = name == "engine" || name == "reason" || name == "source" || name == "sleep_state" ||
                              name == "finished_reason";
      out.append(name).append(enumerated ? "=" + std::string(value) : "").append(",");
      labels.remove_prefix(std::min(end + 1, labels.size()));
      if (labels.starts_with(",")) labels.remove_prefix(1);
    }
    all.insert(out + "}");
  }
  return all;
}

TEST(MetricsPage, HasTheFamiliesOfARealOne) { EXPECT_EQ(comments(page()), comments(sample())); }

TEST(MetricsPage, HasTheSeriesOfARealOne) {
  const auto mine = series(page()), real = series(sample());
  std::vector<std::string> differing;
  std::ranges::set_symmetric_difference(mine, real, std::back_inserter(differing));
  EXPECT_TRUE(differing.empty()) << differing.front();
}

TEST(MetricsPage, SaysHowMuchCacheThereIs) {
  const std::string text = page(4);
  EXPECT_NE(text.find(",num_gpu_blocks=\"8500\","), std::string::npos);         // of all ranks
  EXPECT_NE(text.find(",kv_cache_size_tokens=\"34000\","), std::string::npos);  // of one
  EXPECT_NE(text.find(",block_size=\"16\","), std::string::npos);
  EXPECT_NE(text.find("engine=\"3\""), std::string::npos);
}

}  // namespace
}  // namespace wg::replica
