#include "sim/model_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>

#include "dialect/json_cursor.h"

namespace wg::sim {

namespace {

// Keys that only models with other kinds of layers have.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> other_layers{{
    {"kv_lora_rank", "multi-head latent attention (MLA)"},
    {"ssm_cfg", "state-space layers"},
    {"mamba_d_state", "Mamba layers"},
    {"mamba_num_heads", "Mamba layers"},
    {"state_size", "state-space layers"},
    {"attn_layer_period", "a mixture of attention and Mamba layers"},
    {"hybrid_override_pattern", "a mixture of attention and Mamba layers"},
    {"layers_block_type", "a mixture of kinds of layers"},
    {"linear_num_value_heads", "linear attention layers"},
    {"full_attention_interval", "linear attention layers"},
    {"attention_chunk_size", "chunked attention layers"},
    {"num_kv_shared_layers", "layers that share their KV"},
}};

class Reader {
 public:
  explicit Reader(std::string_view json) : cursor_(json) {}

  Result<ModelShape> read() {
    if (cursor_.peek() != '{') return wrong("it is no JSON object");
    object("");
    cursor_.finish();
    if (!cursor_.ok())
      return wrong(std::string(cursor_.fault().what) + " at offset " + std::to_string(cursor_.fault().offset));
    if (!refused_.empty()) return wrong(refused_);
    return shape();
  }

 private:
  static tl::unexpected<Error> wrong(std::string what) { return fail(Fault::client, std::move(what)); }

  // A model with pictures has its text part in text_config; that is the one with a KV cache.
  void object(const std::string& above) {
    cursor_.object([&](std::string_view key_view) {
      const std::string key(key_view);
      if (key == "text_config") return object("");
      if (key == "quantization_config") {
        quantised_ = cursor_.peek() == '{';
        return object("quantization.");
      }
      if (key == "layer_types" && cursor_.peek() == '[') return layer_types();
      const char first = cursor_.peek();
      if (first == '"') {
        texts_[above + key] = std::string(cursor_.string());
        return;
      }
      const std::string raw(cursor_.skip());
      if (raw == "null" || first == '{' || first == '[') return;
      double value = raw == "true" ? 1 : 0;
      if (raw != "true" && raw != "false") std::from_chars(raw.data(), raw.data() + raw.size(), value);
      numbers_[above + key] = value;
      if (!above.empty() || value == 0) return;
      for (const auto& [name, what] : other_layers)
        if (key == name) refuse("it has " + std::string(what) + " (" + key + ")");
    });
  }

  void layer_types() {
    std::map<std::string, int> count;
    int all = 0;
    cursor_.array([&] {
      ++count[std::string(cursor_.string())];
      ++all;
    });
    for (const auto& [type, how_many] : count)
      if (type != "full_attention")
        refuse(std::to_string(how_many) + " of its " + std::to_string(all) + " layers are " + type);
  }

  void refuse(const std::string& what) {
    if (refused_.empty())
      refused_ = what +
                 "; KV is computed for layers of full attention only: take kv_tokens from the engine's log and give it "
                 "with --config";
  }

  std::int64_t number(const char* key, std::int64_t otherwise = 0) const {
    const auto found = numbers_.find(key);
    return found == numbers_.end() ? otherwise : std::llround(found->second);
  }

  Result<ModelShape> shape() const {
    ModelShape shape;
    if (const auto type = texts_.find("model_type"); type != texts_.end()) shape.type = type->second;
    for (const auto& [key, member] :
         {std::pair{"num_hidden_layers", &ModelShape::layers}, std::pair{"num_attention_heads", &ModelShape::heads},
          std::pair{"hidden_size", &ModelShape::hidden}, std::pair{"vocab_size", &ModelShape::vocabulary},
          std::pair{"intermediate_size", &ModelShape::intermediate}}) {
      shape.*member = number(key);
      if (shape.*member <= 0 || shape.*member > 10'000'000)
        return wrong(std::string(key) + (numbers_.contains(key) ? " makes no sense" : " is missing") +
                     "; without it the KV of a token cannot be computed");
    }
    shape.kv_heads = number("num_key_value_heads", shape.heads);
    shape.head_dim = number("head_dim", shape.hidden / shape.heads);
    shape.context = number("max_position_embeddings");
    if (shape.kv_heads <= 0 || shape.head_dim <= 0) return wrong("num_key_value_heads and head_dim must be above 0");
    const std::int64_t window = number("sliding_window");
    if (window > 0 && number("use_sliding_window", 1) != 0 && (shape.context == 0 || window < shape.context))
      return wrong(
          "its layers see a sliding window of " + std::to_string(window) +
          " tokens; KV is computed for layers of full attention only: take kv_tokens from the engine's log and "
          "give it with --config");
    shape.experts = number("num_experts", number("num_local_experts", number("n_routed_experts")));
    shape.experts_per_token = std::max<std::int64_t>(number("num_experts_per_tok", 1), 1);
    shape.expert_width = number("moe_intermediate_size", shape.intermediate);
    shape.shared_width = number("shared_expert_intermediate_size");
    shape.tied = number("tie_word_embeddings", 0) != 0;
    if (quantised_) shape.weight_bits = quantised_bits();
    return shape;
  }

  double quantised_bits() const {
    if (const std::int64_t bits = number("quantization.bits"); bits > 0) return static_cast<double>(bits);
    const auto method = texts_.find("quantization.quant_method");
    return method != texts_.end() && method->second == "fp8" ? 8 : 0;
  }

  dialect::JsonCursor cursor_;
  std::map<std::string, double> numbers_;
  std::map<std::string, std::string> texts_;
  std::string refused_;
  bool quantised_ = false;
};

double parameters_with(const ModelShape& shape, std::int64_t experts) {
  const auto of = [](std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); };
  const double attention = 2 * of(shape.hidden, shape.heads * shape.head_dim) +  // queries and output
                           2 * of(shape.hidden, shape.kv_heads * shape.head_dim);
  const double dense = 3 * of(shape.hidden, shape.intermediate);  // gate, up, down
  const double mixture = static_cast<double>(experts) * 3 * of(shape.hidden, shape.expert_width) +
                         of(shape.hidden, shape.experts) + 3 * of(shape.hidden, shape.shared_width);
  const double layer = attention + (shape.experts > 0 ? mixture : dense);
  return static_cast<double>(shape.layers) * layer + of(shape.vocabulary, shape.hidden) * (shape.tied ? 1 : 2);
}

std::string gib(double bytes) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f GiB", bytes / 1073741824);
  return text;
}

}  // namespace

Result<ModelShape> read_model_config(std::string_view json) { return Reader(json).read(); }

double kv_bytes_per_token(const ModelShape& shape, double bytes_per_value) {
  return 2 * static_cast<double>(shape.layers * shape.kv_heads * shape.head_dim) * bytes_per_value;
}
double parameters(const ModelShape& shape) { return parameters_with(shape, shape.experts); }
double active_parameters(const ModelShape& shape) {
  return parameters_with(shape, std::min(shape.experts, shape.experts_per_token));
}

Result<Preset> with_model(const Preset& base, const ModelShape& shape, const CardUse& card) {
  const auto wrong = [](std::string what) { return fail(Fault::client, std::move(what)); };
  const double weights = card.weight_bytes > 0 ? card.weight_bytes : parameters(shape) * shape.weight_bits / 8;
  if (weights <= 0) return wrong("its quantisation does not tell the size of the weights: give it with --weights");
  const double left = card.memory_bytes * card.utilization - weights - card.overhead_bytes;
  const double per_token = kv_bytes_per_token(shape, card.kv_value_bytes);
  Preset out = base;
  out.model = shape.type.empty() ? "model" : shape.type;
  out.engine.kv_tokens = {static_cast<std::int64_t>(std::max(left, 0.0) / per_token / out.engine.block_size) *
                          out.engine.block_size};
  if (out.engine.num_blocks() < 64)
    return wrong("weights of " + gib(weights) + " and " + gib(card.overhead_bytes) +
                 " of overhead leave no room for KV in " + gib(card.memory_bytes * card.utilization) + " (" +
                 gib(card.memory_bytes) + " at this utilization)");
  const std::int64_t holds = out.engine.cache_holds().count;
  out.engine.max_model_len = {shape.context > 0 ? std::min(shape.context, holds) : holds};
  const double bandwidth = card.bandwidth > 0 ? card.bandwidth / base.card.bandwidth : 1;
  const double flops = card.flops > 0 ? card.flops / base.card.flops : 1;
  StepCost& cost = out.engine.cost;
  cost.base_s *= weights / base.card.weight_bytes / bandwidth;
  cost.kv_bytes_per_token = per_token;
  cost.kv_bytes_per_s *= bandwidth;
  cost.prefill_tokens_per_s *= flops * base.card.active_parameters / active_parameters(shape);
  cost.prefill_hidden_s = 0.8 * cost.base_s;
  out.card = {bandwidth * base.card.bandwidth, flops * base.card.flops, weights, active_parameters(shape)};
  return out;
}

Result<double> size_named(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  double bytes = 0;
  if (unit == "GiB") bytes = 1073741824;
  if (unit == "MiB") bytes = 1048576;
  if (unit == "GB") bytes = 1e9;
  if (unit == "MB") bytes = 1e6;
  if (error != std::errc() || bytes == 0 || !(number > 0) || number * bytes > 1e15)
    return fail(Fault::client, "'" + std::string(text) + "' is no size: write it as 16GiB, 8.05GB or 512MiB");
  return number * bytes;
}

}  // namespace wg::sim
