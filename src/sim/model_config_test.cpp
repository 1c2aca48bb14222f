#include "sim/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/machine_file.h"

namespace wg::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double gib = 1073741824;

// The sizes of Qwen3-4B.
std::string qwen3_4b(const std::string& more = "") {
  return R"({"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","hidden_size":2560,"num_hidden_layers":36,
"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"intermediate_size":9728,"vocab_size":151936,
"max_position_embeddings":40960,"tie_word_embeddings":true,"torch_dtype":"bfloat16","sliding_window":null)" +
         more + "}";
}

TEST(ModelConfig, Qwen3_4b) {
  const auto shape = read_model_config(qwen3_4b(R"(,"layer_types":["full_attention","full_attention"])"));
  ASSERT_TRUE(shape) << shape.error().what;
  EXPECT_EQ(kv_bytes_per_token(*shape, 2), 147'456);
  EXPECT_NEAR(parameters(*shape), 4.02e9, 0.02e9);
  const auto preset = with_model(presets().front(), *shape, {.memory_bytes = 15.7 * gib});
  ASSERT_TRUE(preset) << preset.error().what;
  EXPECT_NEAR(static_cast<double>(preset->engine.kv_tokens.count), 39'000, 1'500);
  EXPECT_NEAR(preset->engine.cost.base_s, 0.030, 0.0005);
  EXPECT_NEAR(preset->engine.cost.prefill_tokens_per_s, 4'300, 50);
  EXPECT_TRUE(checked(preset->engine));
}

TEST(ModelConfig, SpeedsInProportion) {
  const auto shape = read_model_config(qwen3_4b());
  const auto fast = with_model(presets().front(), *shape,
                               {.memory_bytes = 24 * gib, .kv_value_bytes = 1, .bandwidth = 896e9, .flops = 153.4e12});
  ASSERT_TRUE(fast);
  EXPECT_NEAR(fast->engine.cost.base_s, 0.015, 0.0003);
  EXPECT_NEAR(fast->engine.cost.prefill_tokens_per_s, 8'600, 100);
  EXPECT_EQ(fast->engine.cost.kv_bytes_per_token, 73'728);
}

TEST(ModelConfig, AMixtureOfExpertsStoresAllAndComputesSome) {
  const auto shape = read_model_config(
      R"({"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,
      "head_dim":128,"intermediate_size":6144,"moe_intermediate_size":768,"num_experts":128,"num_experts_per_tok":8,
      "vocab_size":151936,"tie_word_embeddings":false})");
  ASSERT_TRUE(shape) << shape.error().what;
  EXPECT_NEAR(parameters(*shape), 30.5e9, 0.3e9);
  EXPECT_NEAR(active_parameters(*shape), 3.3e9, 0.2e9);
  EXPECT_EQ(kv_bytes_per_token(*shape, 2), 98'304);
}

TEST(ModelConfig, RefusesWhatItCannotCompute) {
  const auto what = [](const std::string& json) {
    const auto shape = read_model_config(json);
    return shape ? std::string("nothing") : shape.error().what;
  };
  EXPECT_EQ(what(qwen3_4b()), "nothing");
  EXPECT_THAT(what(qwen3_4b(R"(,"layer_types":["linear_attention","linear_attention","full_attention"])")),
              StartsWith("2 of its 3 layers are linear_attention; KV is computed for layers of full attention only"));
  EXPECT_THAT(what(qwen3_4b(R"(,"kv_lora_rank":512)")), HasSubstr("multi-head latent attention (MLA) (kv_lora_rank)"));
  EXPECT_THAT(what(qwen3_4b(R"(,"mamba_d_state":16)")), HasSubstr("Mamba"));
  EXPECT_THAT(what(R"({"num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,"vocab_size":32000,
"intermediate_size":14336,"sliding_window":4096,"max_position_embeddings":32768})"),
              HasSubstr("sliding window of 4096 tokens"));
  EXPECT_THAT(what(R"({"text_config":)" + qwen3_4b(R"(,"layer_types":["sliding_attention"])") + "}"),
              HasSubstr("sliding_attention"));
  EXPECT_EQ(what(R"({"hidden_size":2560,"num_hidden_layers":36,"vocab_size":9,"intermediate_size":9})"),
            "num_attention_heads is missing; without it the KV of a token cannot be computed");
  EXPECT_EQ(what("[]"), "it is no JSON object");
  EXPECT_THAT(what("{\"a\":"), HasSubstr("at offset"));
}

TEST(ModelConfig, SaysWhenNothingFits) {
  const auto none = with_model(presets().front(), *read_model_config(qwen3_4b()), {.memory_bytes = 8 * gib});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("leave no room for KV in 7.2 GiB"));
  const auto odd = read_model_config(qwen3_4b(R"(,"quantization_config":{"quant_method":"strange"})"));
  ASSERT_TRUE(odd);
  EXPECT_THAT(with_model(presets().front(), *odd, {.memory_bytes = 8 * gib}).error().what, HasSubstr("--weights"));
  const auto four = read_model_config(qwen3_4b(R"(,"quantization_config":{"quant_method":"awq","bits":4})"));
  EXPECT_EQ(four->weight_bits, 4);
}

TEST(Sizes, Names) {
  EXPECT_EQ(*size_named("16GiB"), 16 * gib);
  EXPECT_DOUBLE_EQ(*size_named("8.05GB"), 8.05e9);
  EXPECT_EQ(size_named("16").error().what, "'16' is no size: write it as 16GiB, 8.05GB or 512MiB");
}

TEST(MachineFile, BeginsFromAPreset) {
  const auto machine = read_machine(
      "base: rtx5090-27b\nname: mine\nreplicas: 3\nkv_tokens: 160000\nnetwork: 20ms\n"
      "cost: {base: 12ms}\nload:\n  first: [100, 200]\n  output: 50\n  pause: exp:2s\n");
  ASSERT_TRUE(machine) << machine.error().what;
  EXPECT_EQ(machine->replicas, 3u);
  EXPECT_EQ(machine->preset.name, "mine");
  EXPECT_EQ(machine->preset.engine.kv_tokens.count, 160'000);
  EXPECT_EQ(machine->preset.engine.max_num_seqs, 64u) << "of the base";
  EXPECT_EQ(machine->preset.engine.cost.base_s, 0.012);
  EXPECT_EQ(machine->preset.load.first.high, 200);
  EXPECT_EQ(machine->preset.load.output.low, 50);
  EXPECT_TRUE(machine->preset.load.pause_is_mean);
}

TEST(MachineFile, SaysWhatIsWrong) {
  const auto what = [](const std::string& text) {
    const auto machine = read_machine(text);
    return machine ? std::string("nothing") : machine.error().what;
  };
  EXPECT_THAT(what("kv_token: 5\n"), StartsWith("line 1: kv_token: unknown key; known are base, name,"));
  EXPECT_EQ(what("model: m\nreplicas: 0\n"), "line 2: replicas does not fit; allowed: 1 to 999");
  EXPECT_EQ(what("load:\n  first: [5, 3]\n"), "line 2: load.first does not fit; allowed: tokens, or [from, to]");
  EXPECT_EQ(what("base: h100\n"), "line 1: base: unknown preset 'h100'; known are a4000-qwen3-4b, rtx5090-27b");
  EXPECT_EQ(what("kv_tokens: 17\n"), "block size 16 is not a divisor of the 17 KV tokens");
  EXPECT_EQ(what("replicas: 1\nreplicas: 2\n"), "line 2: replicas is given twice");
  EXPECT_EQ(what("just words"), "line 1: there must be keys and values at the top");
  EXPECT_THAT(what("a: [1"), StartsWith("line "));
}

}  // namespace
}  // namespace wg::sim
