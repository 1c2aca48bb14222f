#include "gateway/known_engines.h"

#include <gtest/gtest.h>

namespace wg::gateway {
namespace {

// As --engine gives them: each with a place for a pool of its own, which nothing names.
config::Config by_flag(std::size_t engines) {
  config::Config config;
  for (std::size_t e = 0; e < engines; ++e) {
    config::Pool pool;
    pool.engines.emplace_back();
    pool.engines.back().name = "e" + std::to_string(e);
    config.pools.push_back(pool);
  }
  return config;
}

probe::EngineSample vllm(std::uint32_t ranks) {
  probe::EngineSample sample;
  sample.kind = probe::EngineKind::vllm;
  for (std::uint32_t r = 0; r < ranks; ++r) sample.ranks.emplace_back().rank = r;
  return sample;
}

TEST(KnownEngines, TheFirstOfAModelNamesItsPoolAndOthersJoinIt) {
  const config::Config config = by_flag(3);
  KnownEngines engines(config);
  EXPECT_EQ(engines.found(1, "a", vllm(1), {}).pool, 0u) << "the first place that is free";
  EXPECT_EQ(engines.found(0, "b", vllm(1), {}).pool, 1u);
  EXPECT_EQ(engines.found(2, "a", vllm(1), {}).pool, 0u);
  EXPECT_EQ(engines.pool_name(0), "a");
  EXPECT_EQ(engines.pool_name(1), "b");
  EXPECT_EQ(engines.in_pool(0), (std::vector<EngineIndex>{1, 2}));
}

TEST(KnownEngines, APlaceIsSpareOnceNoEngineCanTakeIt) {
  const config::Config config = by_flag(3);
  KnownEngines engines(config);
  engines.found(0, "a", vllm(1), {});
  EXPECT_FALSE(engines.directory({})->is_spare(1)) << "its engine may serve anything yet";
  engines.found(1, "a", vllm(1), {});
  EXPECT_FALSE(engines.directory({})->is_spare(0));
  EXPECT_TRUE(engines.directory({})->is_spare(1));
  EXPECT_FALSE(engines.directory({})->is_spare(2));
}

TEST(KnownEngines, AConfiguredPoolKeepsItsEnginesWhateverTheyServe) {
  config::Config config = by_flag(2);
  config.pools[0].model = "qwen";
  KnownEngines engines(config);
  EXPECT_EQ(engines.found(0, "/models/qwen-awq", vllm(1), {}).pool, 0u);
  EXPECT_EQ(engines.pool_name(0), "qwen");
}

TEST(KnownEngines, ReplicasAreSteeredOnlyWhereAnEngineHasSeveral) {
  const config::Config config = by_flag(2);
  KnownEngines engines(config);
  engines.found(0, "a", vllm(2), {});
  engines.found(1, "a", vllm(1), {});
  std::vector<fleet::ReplicaState> replicas(4);
  for (ReplicaIndex r = 0; r < 4; ++r) replicas[r].index = r;
  replicas[1].rank = 0;
  replicas[2].rank = 1;
  replicas[3].rank = 0;
  replicas[3].engine = 1;
  const auto directory = engines.directory(replicas);
  EXPECT_EQ(directory->replicas[0].id, "a/e0/any");
  EXPECT_EQ(directory->replicas[2].id, "a/e0/1");
  EXPECT_EQ(directory->replicas[2].steer_to, 1u);
  EXPECT_EQ(directory->replicas[3].id, "a/e1/0");
  EXPECT_FALSE(directory->replicas[3].steer_to);
}

TEST(KnownEngines, WhatTheConfigurationSaysGoesBeforeWhatTheEngineSays) {
  config::Config config = by_flag(1);
  config.pools[0].engines[0].max_num_seqs = 32;
  KnownEngines engines(config);
  EXPECT_EQ(engines.found(0, "a", vllm(1), 8).max_concurrent, 32u);
  EXPECT_TRUE(engines.add_warning(0, "w"));
  EXPECT_FALSE(engines.add_warning(0, "w"));
}

}  // namespace
}  // namespace wg::gateway
