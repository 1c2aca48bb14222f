// A model as its Hugging Face config.json describes it: what a token's KV takes, and what the weights take. Only of
// models all of whose layers have full attention; others are refused by name. Values only; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"
#include "sim/preset.h"

namespace wg::sim {

struct ModelShape {
  std::string type;  // model_type
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t intermediate = 0, vocabulary = 0, context = 0;                           // context 0: not said
  std::int64_t experts = 0, experts_per_token = 0, expert_width = 0, shared_width = 0;  // experts 0: dense
  bool tied = false;        // the output uses the input's embedding
  double weight_bits = 16;  // 0: quantised in a way whose size the config does not tell
};

// The error says which key is missing or which kind of layer cannot be computed.
Result<ModelShape> read_model_config(std::string_view json);

double kv_bytes_per_token(const ModelShape& shape,
                          double bytes_per_value);  // 2 x layers x KV heads x head size x bytes
double parameters(const ModelShape& shape);         // with all experts
double active_parameters(const ModelShape& shape);  // that one token goes through

// A card, and how vLLM is told to use it.
struct CardUse {
  double memory_bytes = 0;
  double utilization = 0.9;                  // vLLM's gpu_memory_utilization
  double overhead_bytes = 1.2 * 1073741824;  // activations, graphs, context
  double kv_value_bytes = 2;                 // 1: fp8
  double weight_bytes = 0;                   // 0: from the shape
  double bandwidth = 0, flops = 0;           // of the card, per second; 0: as the preset's card
};

// The preset's machine with this model on this card: capacity from memory, speeds in proportion (docs/simulate.md).
Result<Preset> with_model(const Preset& base, const ModelShape& shape, const CardUse& card);

// "16GiB", "8.05GB", "512MiB" as bytes.
Result<double> size_named(std::string_view text);

}  // namespace wg::sim
