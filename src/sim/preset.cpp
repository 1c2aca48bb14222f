#include "sim/preset.h"

namespace wg::sim {

namespace {

// Four RTX A4000 (16 GB) with Qwen3-4B in bf16: one of them. docs/adr/0006-cost-model.md says where each number is
// from; the published table is in tests/golden/reference, and a test compares.
Preset a4000_qwen3_4b() {
  Preset preset;
  preset.name = "a4000-qwen3-4b";
  preset.model = "qwen3-4b";
  preset.engine.kv_tokens = {34'000};
  preset.engine.max_num_seqs = 32;
  preset.engine.max_num_batched_tokens = 2'048;
  preset.engine.max_model_len = {32'768};
  preset.engine.cost = {.base_s = 0.030,
                        .kv_bytes_per_token = 147'456,
                        .kv_bytes_per_s = 752e9,
                        .prefill_kv_share = 1,
                        .prefill_tokens_per_s = 4'300,
                        .prefill_hidden_s = 0.024};
  preset.network_s = 0.25;
  preset.load = {.head = 3'500,
                 .first = {7'200, 7'500},
                 .added = {380, 420},
                 .output = {226, 256},  // nearly all answers of that run met the cap of 256
                 .turns = 6,
                 .pause_s = 0.2,
                 .pause_is_mean = false,
                 .between_sessions_s = 0.2,
                 .stagger_s = 0.02};
  return preset;
}

// An RTX 5090 (32 GB) with a 27B model in 4 bits, a quarter of its layers with full attention.
Preset rtx5090_27b() {
  Preset preset;
  preset.name = "rtx5090-27b";
  preset.model = "qwen3.6-27b";
  preset.engine.kv_tokens = {150'000};
  preset.engine.max_num_seqs = 64;
  preset.engine.max_num_batched_tokens = 2'048;
  preset.engine.cost = {.base_s = 0.014,
                        .kv_bytes_per_token = 65'536,
                        .kv_bytes_per_s = 1.07e12,
                        .prefill_kv_share = 0.25,
                        .prefill_tokens_per_s = 2'500,
                        .prefill_hidden_s = 0.0112};  // 0.8 of the base, as fitted for the other machine
  preset.card = {1'792e9, 210e12, 17e9, 27e9};
  preset.network_s = 0.05;
  preset.load = {.head = 15'000,
                 .first = {40'000, 44'000},
                 .added = {300, 900},
                 .output = {80, 500},
                 .turns = 60,
                 .pause_s = 4,
                 .pause_is_mean = true,
                 .between_sessions_s = 0.2,
                 .stagger_s = 0.02};
  return preset;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all{a4000_qwen3_4b(), rtx5090_27b()};
  return all;
}

Result<Preset> preset_named(std::string_view name) {
  std::string known;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + preset.name;
  }
  return fail(Fault::client, "unknown preset '" + std::string(name) + "'; known are " + known);
}

}  // namespace wg::sim
