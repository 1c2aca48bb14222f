#include "probe/engine_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

namespace wg::probe {
namespace {

std::string sample_file(const std::string& name) {
  std::ifstream in(WG_TEST_DATA "/engine-samples/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

EngineSample parsed(std::string_view text) {
  const auto result = parse_metrics(text);
  EXPECT_TRUE(result) << (result ? "" : result.error().what);
  return result ? *result : EngineSample{};
}

TEST(RealEngines, VllmWithTwoRanks) {
  const EngineSample engine = parsed(sample_file("vllm-dp2-metrics-full.txt"));
  EXPECT_EQ(engine.kind, EngineKind::vllm);
  EXPECT_EQ(engine.model, "tiny");
  ASSERT_EQ(engine.ranks.size(), 2u);
  const RankSample& zero = engine.ranks[0];
  EXPECT_EQ(zero.rank, 0u);
  EXPECT_EQ(zero.running, 0);
  EXPECT_EQ(zero.kv_usage, 0.0);
  EXPECT_EQ(zero.prefix_queries, 9452);
  EXPECT_EQ(zero.prefix_hits, 4224);
  EXPECT_EQ(zero.prompt_tokens, 9452);
  EXPECT_EQ(zero.cached_tokens, 4224);
  EXPECT_EQ(zero.generated_tokens, 470);
  EXPECT_EQ(zero.preemptions, 0);
  EXPECT_EQ(zero.kv_capacity, Tokens{2097152});  // per engine: not the sum that num_gpu_blocks gives
  EXPECT_FALSE(zero.kv_capacity_assumed);
  EXPECT_EQ(zero.prefix_caching, true);
  EXPECT_EQ(zero.block_size, 128u);
  EXPECT_FALSE(zero.max_running);
  const RankSample& one = engine.ranks[1];
  EXPECT_EQ(one.rank, 1u);
  EXPECT_EQ(one.prefix_queries, 6000);
  EXPECT_EQ(one.prefix_hits, 2176);
  EXPECT_EQ(one.generated_tokens, 223);
  EXPECT_EQ(one.kv_capacity, Tokens{2097152});
}

TEST(RealEngines, VllmOneRankAlone) {
  const EngineSample single = parsed(sample_file("vllm-single-metrics.txt"));
  ASSERT_EQ(single.ranks.size(), 1u);
  EXPECT_EQ(single.ranks[0].prefix_queries, 2133);
  EXPECT_EQ(single.ranks[0].cached_tokens, 1280);
  EXPECT_EQ(single.ranks[0].kv_capacity, Tokens{2097152});
  const EngineSample excerpt = parsed(sample_file("vllm-dp2-metrics-engine0.txt"));
  ASSERT_EQ(excerpt.ranks.size(), 1u);
  EXPECT_EQ(excerpt.ranks[0].prefix_hits, 4224);
}

TEST(RealEngines, LlamaCpp) {
  const EngineSample engine = parsed(sample_file("llama-metrics-after.txt"));
  EXPECT_EQ(engine.kind, EngineKind::llama_cpp);
  EXPECT_EQ(engine.model, "");
  ASSERT_EQ(engine.ranks.size(), 1u);
  const RankSample& only = engine.ranks[0];
  EXPECT_EQ(only.rank, 0u);
  EXPECT_EQ(only.prompt_tokens, 3147 + 1811);
  EXPECT_EQ(only.cached_tokens, 1811);
  EXPECT_EQ(only.prefix_queries, 3147 + 1811);
  EXPECT_EQ(only.prefix_hits, 1811);
  EXPECT_EQ(only.generated_tokens, 506);
  EXPECT_FALSE(only.kv_usage);
  EXPECT_FALSE(only.kv_capacity);
  EXPECT_FALSE(only.prefix_caching);

  const EngineSample idle = parsed(sample_file("xllamacpp-metrics-idle.txt"));
  EXPECT_EQ(idle.ranks.at(0).prefix_queries, 0);
}

TEST(LlamaCpp, LoadAndNoCacheCounter) {
  const EngineSample engine =
      parsed("llamacpp:requests_processing 4\nllamacpp:requests_deferred 2\nllamacpp:prompt_tokens_total 10\n");
  EXPECT_EQ(engine.ranks.at(0).running, 4);
  EXPECT_EQ(engine.ranks.at(0).waiting, 2);
  EXPECT_EQ(engine.ranks.at(0).prompt_tokens, 10);
  EXPECT_EQ(engine.ranks.at(0).prefix_queries, 0);  // unknown, not a hit rate of zero
}

TEST(Vllm, UnderPressure) {
  const EngineSample engine = parsed(R"(# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 2.0
vllm:num_requests_running{engine="1",model_name="m"} 0.0
vllm:num_requests_waiting{engine="0",model_name="m"} 4.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 400.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.67
vllm:num_preemptions_total{engine="0",model_name="m"} 3.0
vllm:num_preemptions_created{engine="0",model_name="m"} 1.7e+09
)");
  ASSERT_EQ(engine.ranks.size(), 2u);
  EXPECT_EQ(engine.ranks[0].running, 2);
  EXPECT_EQ(engine.ranks[0].waiting, 4);
  EXPECT_EQ(engine.ranks[0].kv_usage, 0.67);
  EXPECT_EQ(engine.ranks[0].preemptions, 3);
  EXPECT_FALSE(engine.ranks[1].kv_usage);
}

TEST(Vllm, FormerNamesAndAssumedCapacity) {
  const EngineSample engine = parsed(R"(vllm:num_requests_running{engine="0",model_name="m"} 1
vllm:num_requests_running{engine="1",model_name="m"} 1
vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:gpu_prefix_cache_queries_total{engine="0",model_name="m"} 1000
vllm:gpu_prefix_cache_hits_total{engine="0",model_name="m"} 400
vllm:cache_config_info{block_size="16",enable_prefix_caching="False",engine="0",num_gpu_blocks="2000"} 1
vllm:cache_config_info{block_size="16",enable_prefix_caching="None",engine="1",num_gpu_blocks="2000"} 1
)");
  ASSERT_EQ(engine.ranks.size(), 2u);
  EXPECT_EQ(engine.ranks[0].kv_usage, 0.25);
  EXPECT_EQ(engine.ranks[0].prefix_queries, 1000);
  EXPECT_EQ(engine.ranks[0].prefix_hits, 400);
  EXPECT_EQ(engine.ranks[0].cached_tokens, 400);
  EXPECT_EQ(engine.ranks[0].kv_capacity, Tokens{16000});  // 2,000 blocks of 16, shared by two ranks
  EXPECT_TRUE(engine.ranks[0].kv_capacity_assumed);
  EXPECT_EQ(engine.ranks[0].prefix_caching, false);
  EXPECT_EQ(engine.ranks[1].kv_capacity, Tokens{16000});
  EXPECT_FALSE(engine.ranks[1].prefix_caching);
}

TEST(Vllm, NoEngineLabelIsRankZero) {
  const EngineSample engine = parsed(
      "vllm:num_requests_running{model_name=\"m\"} 3\n"
      "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\"} 1\n");
  ASSERT_EQ(engine.ranks.size(), 1u);
  EXPECT_EQ(engine.ranks[0].rank, 0u);
  EXPECT_EQ(engine.ranks[0].running, 3);
  EXPECT_EQ(engine.ranks[0].kv_capacity, Tokens{1600});
}

TEST(Vllm, UnknownCapacity) {
  const EngineSample engine = parsed(R"(vllm:num_requests_running{engine="0"} 3
vllm:cache_config_info{engine="0",block_size="None",num_gpu_blocks="None",kv_cache_size_tokens="None"} 1
)");
  EXPECT_FALSE(engine.ranks.at(0).kv_capacity);
  EXPECT_FALSE(engine.ranks.at(0).block_size);
  EXPECT_FALSE(engine.ranks.at(0).kv_capacity_assumed);
}

// Names as in SGLang's collector: gauges by dp_rank and tp_rank, request counters by the front end without a rank.
constexpr std::string_view sglang_page = R"(# HELP sglang:num_running_reqs The number of running requests
sglang:num_running_reqs{dp_rank="0",engine_type="unified",model_name="q",pp_rank="0",tp_rank="0"} 3.0
sglang:num_running_reqs{dp_rank="0",engine_type="unified",model_name="q",pp_rank="0",tp_rank="1"} 3.0
sglang:num_running_reqs{dp_rank="1",engine_type="unified",model_name="q",pp_rank="0",tp_rank="0"} 1.0
sglang:num_queue_reqs{dp_rank="0",model_name="q",tp_rank="0"} 2.0
sglang:token_usage{dp_rank="0",model_name="q",tp_rank="0"} 0.28
sglang:token_usage{dp_rank="1",model_name="q",tp_rank="0"} 0.1
sglang:max_total_num_tokens{dp_rank="0",model_name="q",tp_rank="0"} 161721.0
sglang:max_total_num_tokens{dp_rank="1",model_name="q",tp_rank="0"} 161721.0
sglang:page_size{dp_rank="0",model_name="q",tp_rank="0"} 1.0
sglang:num_retracted_requests_total{dp_rank="1",model_name="q",tp_rank="0"} 5.0
sglang:prompt_tokens_total{model_name="q",is_streaming="true"} 600.0
sglang:prompt_tokens_total{model_name="q",is_streaming="false"} 400.0
sglang:cached_tokens_total{model_name="q",cache_source="device"} 300.0
sglang:cached_tokens_total{model_name="q",cache_source="host"} 100.0
sglang:generation_tokens_total{model_name="q"} 80.0
sglang:time_to_first_token_seconds_bucket{model_name="q",le="0.1"} 9.0
)";

TEST(Sglang, RanksAndSharedCounters) {
  const EngineSample engine = parsed(sglang_page);
  EXPECT_EQ(engine.kind, EngineKind::sglang);
  EXPECT_EQ(engine.model, "q");
  ASSERT_EQ(engine.ranks.size(), 2u);
  EXPECT_EQ(engine.ranks[0].running, 3);  // tensor-parallel ranks tell the same story: not 6
  EXPECT_EQ(engine.ranks[0].waiting, 2);
  EXPECT_EQ(engine.ranks[0].kv_usage, 0.28);
  EXPECT_EQ(engine.ranks[0].kv_capacity, Tokens{161721});
  EXPECT_EQ(engine.ranks[0].block_size, 1u);
  EXPECT_EQ(engine.ranks[1].running, 1);
  EXPECT_EQ(engine.ranks[1].preemptions, 5);
  for (const RankSample& rank : engine.ranks) {
    EXPECT_EQ(rank.prefix_queries, 500);
    EXPECT_EQ(rank.prefix_hits, 200);
    EXPECT_EQ(rank.prompt_tokens, 500);
    EXPECT_EQ(rank.cached_tokens, 200);
    EXPECT_EQ(rank.generated_tokens, 40);
  }
}

TEST(Sglang, WithoutDataParallel) {
  const EngineSample engine = parsed(
      "sglang:num_running_reqs{model_name=\"q\",tp_rank=\"0\"} 3\nsglang:max_running_requests{model_name=\"q\"} 48\n");
  ASSERT_EQ(engine.ranks.size(), 1u);
  EXPECT_EQ(engine.ranks[0].running, 3);
  EXPECT_EQ(engine.ranks[0].max_running, 48.0);
  EXPECT_EQ(engine.ranks[0].prefix_queries, 0);
}

TEST(Hostile, NothingKnown) {
  for (const char* text :
       {"", "\n\n\n", "# HELP vllm:num_requests_running x\n", "python_info 1\n", "vllm:\n", "vllm:{} 1\n",
        "vllm:unknown_thing 1\n", "<html>502 Bad Gateway</html>", "vllm:num_requests_running{engine=\"0\"} x\n",
        "vllm:num_requests_running{engine=\"0", "xvllm:num_requests_running 1\n", "vllm:num_requests_running"}) {
    const auto result = parse_metrics(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().fault, Fault::upstream);
  }
}

TEST(Hostile, Numbers) {
  const EngineSample engine = parsed(R"(vllm:num_requests_running{engine="0"} NaN
vllm:num_requests_waiting{engine="0"} +Inf
vllm:kv_cache_usage_perc{engine="0"} 1e999
vllm:prompt_tokens_total{engine="0"} -5
vllm:num_requests_running{engine="1"} -Inf
vllm:kv_cache_usage_perc{engine="1"} 1.5
vllm:prompt_tokens_total{engine="1"} 1e300
)");
  ASSERT_EQ(engine.ranks.size(), 2u);
  EXPECT_EQ(engine.ranks[0].running, 0);
  EXPECT_EQ(engine.ranks[0].waiting, 0);
  EXPECT_EQ(engine.ranks[0].kv_usage, 0.0);
  EXPECT_EQ(engine.ranks[0].prompt_tokens, 0);
  EXPECT_EQ(engine.ranks[1].running, 0);
  EXPECT_EQ(engine.ranks[1].kv_usage, 1.0);
  EXPECT_TRUE(std::isfinite(engine.ranks[1].prompt_tokens));
}

TEST(Hostile, SumsStayFinite) {
  std::string page;
  for (int i = 0; i < 100; ++i) page += "sglang:prompt_tokens_total{n=\"" + std::to_string(i) + "\"} 1e308\n";
  EXPECT_TRUE(std::isfinite(parsed(page).ranks.at(0).prompt_tokens));
}

TEST(Hostile, Ranks) {
  const EngineSample engine = parsed(R"(vllm:num_requests_running{engine="1023"} 1
vllm:num_requests_running{engine="1024"} 2
vllm:num_requests_running{engine="-1"} 3
vllm:num_requests_running{engine="99999999999999999999"} 4
vllm:num_requests_running{engine="one"} 5
vllm:num_requests_running{engine="2"} 6
vllm:num_requests_running{engine="2"} 7
vllm:num_requests_running{engine="2"} 5
)");
  ASSERT_EQ(engine.ranks.size(), 2u);
  EXPECT_EQ(engine.ranks[0].rank, 2u);
  EXPECT_EQ(engine.ranks[0].running, 7);
  EXPECT_EQ(engine.ranks[1].rank, 1023u);
  EXPECT_EQ(engine.ranks[1].running, 1);
}

TEST(Hostile, OnlyImpossibleRanks) { EXPECT_FALSE(parse_metrics("vllm:num_requests_running{engine=\"5000\"} 2\n")); }

TEST(Hostile, ManyRanksAreBounded) {
  std::string page;
  for (int i = 0; i < 5'000; ++i) page += "vllm:num_requests_running{engine=\"" + std::to_string(i) + "\"} 1\n";
  EXPECT_EQ(parsed(page).ranks.size(), 1'024u);
}

TEST(Hostile, LabelsWithEscapesAndOfAnySize) {
  const EngineSample engine = parsed(R"(vllm:num_requests_running{model_name="a\"b\\",x="}, 9 ",engine="1"} 2
)");
  EXPECT_EQ(engine.model, "a\"b\\");
  ASSERT_EQ(engine.ranks.size(), 1u);
  EXPECT_EQ(engine.ranks[0].rank, 1u);
  EXPECT_EQ(engine.ranks[0].running, 2);

  const std::string huge(2'000'000, 'x');
  const EngineSample big = parsed("vllm:num_requests_running{model_name=\"" + huge + "\",engine=\"0\"} 2\n");
  EXPECT_EQ(big.model, "");
  EXPECT_EQ(big.ranks.at(0).running, 2);
}

TEST(Hostile, TwoEnginesOnOnePage) {
  const EngineSample engine =
      parsed("vllm:num_requests_running 1\nsglang:num_running_reqs 2\nllamacpp:requests_processing 3\n");
  EXPECT_EQ(engine.kind, EngineKind::vllm);
  EXPECT_EQ(engine.ranks.at(0).running, 1);
}

TEST(Hostile, LastLineWithoutEnd) {
  EXPECT_EQ(parsed("vllm:num_requests_running{engine=\"0\"} 12").ranks.at(0).running, 12);
  EXPECT_EQ(parsed("vllm:num_requests_running{engine=\"0\"} 12\r").ranks.at(0).running, 12);
}

TEST(Hostile, WindowsLineEnds) {
  EXPECT_EQ(parsed("# x\r\nvllm:num_requests_running{engine=\"0\"} 12\r\nvllm:num_requests_waiting 3\r\n")
                .ranks.at(0)
                .running,
            12);
}

TEST(Hostile, MoreThanSixteenMebibytesAreNotRead) {
  std::string page = "vllm:num_requests_running{engine=\"0\"} 1\n";
  page += "# " + std::string((16u << 20) - page.size() - 4, 'x') + "\n";
  page += "vllm:num_requests_running{engine=\"0\"} 99\n";  // straddles the limit: cut, then not half read
  EXPECT_EQ(parsed(page).ranks.at(0).running, 1);
  EXPECT_FALSE(parse_metrics(std::string(17u << 20, 'v')));
}

// Cut anywhere, a page gives an error or figures no larger than those of the whole page.
TEST(Hostile, CutAnywhere) {
  const std::string page = sample_file("vllm-dp2-metrics-full.txt");
  const EngineSample whole = parsed(page);
  for (std::size_t length = 0; length < page.size(); length += 97) {
    const auto cut = parse_metrics(std::string_view(page).substr(0, length));
    if (!cut) continue;
    ASSERT_LE(cut->ranks.size(), whole.ranks.size());
    for (std::size_t i = 0; i < cut->ranks.size(); ++i)
      EXPECT_LE(cut->ranks[i].prompt_tokens, whole.ranks[i].prompt_tokens);
  }
}

TEST(Hostile, EveryByteSpoiltOnce) {
  const std::string page = sample_file("vllm-dp2-metrics-engine0.txt").substr(0, 1'500);
  for (const char spoil : {'\0', '"', '\\', '{', '}', '\n', '\xff', ' '}) {
    for (std::size_t at = 0; at < page.size(); ++at) {
      std::string spoilt = page;
      spoilt[at] = spoil;
      const auto result = parse_metrics(spoilt);
      ASSERT_TRUE(!result || !result->ranks.empty());
    }
  }
}

TEST(EngineKindNames, AreThose) {
  EXPECT_EQ(name_of(EngineKind::vllm), "vllm");
  EXPECT_EQ(name_of(EngineKind::sglang), "sglang");
  EXPECT_EQ(name_of(EngineKind::llama_cpp), "llama.cpp");
  EXPECT_EQ(name_of(EngineKind::unknown), "unknown");
}

}  // namespace
}  // namespace wg::probe
