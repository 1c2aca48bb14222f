#include "probe/engine_sample.h"

#include <algorithm>

#include "probe/exposition.h"
#include "probe/known_names.h"

namespace wg::probe {
namespace {

constexpr std::size_t most_text = 16u << 20;
constexpr std::uint32_t most_ranks = 1'024;
constexpr std::size_t longest_model = 256;
constexpr double most_count = 1e18;   // keeps sums finite
constexpr double most_tokens = 1e15;  // exact as a double, far above any cache

// What vLLM's cache_config_info says in its labels. "None" and the like leave a field empty.
struct CacheConfig {
  std::optional<std::uint64_t> block_size, num_gpu_blocks, size_tokens;
  std::optional<bool> prefix_caching;
  bool is_8_bit = false;

  void read(const Label& label) {
    if (label.name == "block_size") block_size = whole_number(label.value, 1u << 30);
    if (label.name == "num_gpu_blocks") num_gpu_blocks = whole_number(label.value, 1ull << 48);
    if (label.name == "kv_cache_size_tokens")
      size_tokens = whole_number(label.value, static_cast<std::uint64_t>(most_tokens));
    if (label.name == "cache_dtype") is_8_bit = label.value.starts_with("fp8") || label.value == "int8";
    if (label.name == "enable_prefix_caching" && (label.value == "True" || label.value == "False"))
      prefix_caching = label.value == "True";
  }
};

struct Rank {
  bool seen = false;
  RankSample sample;
  std::optional<double> queries, hits, prompt, cached, generated, preemptions;
  std::optional<double> num_gpu_blocks;  // of all ranks together
};

void keep(std::optional<double>& kept, double value, Repeated repeated) {
  if (!kept)
    kept = value;
  else
    kept = repeated == Repeated::sum ? *kept + value : std::max(*kept, value);
}

Tokens tokens(double count) { return Tokens{static_cast<std::int64_t>(std::clamp(count, 0.0, most_tokens))}; }

void apply(Rank& rank, const CacheConfig& config) {
  RankSample& sample = rank.sample;
  if (config.block_size && *config.block_size > 0) sample.block_size = static_cast<std::uint32_t>(*config.block_size);
  sample.kv_is_8_bit = sample.kv_is_8_bit || config.is_8_bit;
  if (config.prefix_caching) sample.prefix_caching = config.prefix_caching;
  if (config.num_gpu_blocks) rank.num_gpu_blocks = static_cast<double>(*config.num_gpu_blocks);
  if (config.size_tokens && *config.size_tokens > 0)
    sample.kv_capacity = Tokens{static_cast<std::int64_t>(*config.size_tokens)};
}

void apply(Rank& rank, const KnownName& known, double value) {
  RankSample& sample = rank.sample;
  value = std::clamp(value, 0.0, most_count);
  switch (known.field) {
    case Field::running:
      sample.running = std::max(sample.running, value);
      break;
    case Field::waiting:
      sample.waiting = std::max(sample.waiting, value);
      break;
    case Field::kv_usage:
      sample.kv_usage = std::max(sample.kv_usage.value_or(0), std::min(value, 1.0));
      break;
    case Field::kv_capacity:
      if (value > 0) sample.kv_capacity = std::max(sample.kv_capacity.value_or(Tokens{}), tokens(value));
      break;
    case Field::block_size:
      if (value >= 1 && value <= 1u << 30) sample.block_size = static_cast<std::uint32_t>(value);
      break;
    case Field::max_running:
      if (value > 0) keep(sample.max_running, value, known.repeated);
      break;
    case Field::queries:
      keep(rank.queries, value, known.repeated);
      break;
    case Field::hits:
      keep(rank.hits, value, known.repeated);
      break;
    case Field::prompt:
      keep(rank.prompt, value, known.repeated);
      break;
    case Field::cached:
      keep(rank.cached, value, known.repeated);
      break;
    case Field::generated:
      keep(rank.generated, value, known.repeated);
      break;
    case Field::preemptions:
      keep(rank.preemptions, value, known.repeated);
      break;
    case Field::cache_config:
    case Field::none:
      break;
  }
}

// Each engine counts its prompt tokens in its own way; here they come to mean the same.
void settle_counters(EngineKind kind, Rank& rank) {
  RankSample& sample = rank.sample;
  const double prompt = rank.prompt.value_or(0), cached = rank.cached.value_or(0);
  sample.generated_tokens = rank.generated.value_or(0);
  sample.preemptions = rank.preemptions.value_or(0);
  if (kind == EngineKind::vllm) {
    sample.prompt_tokens = prompt;
    sample.prefix_queries = rank.queries.value_or(0);
    sample.prefix_hits = rank.hits.value_or(0);
    sample.cached_tokens = rank.cached.value_or(sample.prefix_hits);  // prompt_tokens_cached: since 2026-02
    return;
  }
  // llama.cpp's prompt counter leaves the cached tokens out, SGLang's includes them.
  sample.prompt_tokens = kind == EngineKind::llama_cpp ? prompt + cached : prompt;
  sample.cached_tokens = cached;
  if (!rank.cached) return;  // nothing said about the cache: no queries, rather than a hit rate of 0
  sample.prefix_queries = sample.prompt_tokens;
  sample.prefix_hits = cached;
}

// Figures of the engine as a whole (SGLang's front end counts prompt tokens without a rank) are shared out evenly, so
// that sums and ratios stay right.
void share_out(const Rank& whole, Rank& rank, double ranks) {
  const auto add_share = [ranks](std::optional<double>& mine, const std::optional<double>& all) {
    if (all) mine = mine.value_or(0) + *all / ranks;
  };
  add_share(rank.queries, whole.queries);
  add_share(rank.hits, whole.hits);
  add_share(rank.prompt, whole.prompt);
  add_share(rank.cached, whole.cached);
  add_share(rank.generated, whole.generated);
  add_share(rank.preemptions, whole.preemptions);
  if (!rank.num_gpu_blocks) rank.num_gpu_blocks = whole.num_gpu_blocks;
  RankSample& sample = rank.sample;
  if (!sample.kv_capacity) sample.kv_capacity = whole.sample.kv_capacity;
  if (!sample.block_size) sample.block_size = whole.sample.block_size;
  if (!sample.max_running) sample.max_running = whole.sample.max_running;
  if (!sample.prefix_caching) sample.prefix_caching = whole.sample.prefix_caching;
}

class Page {
 public:
  void read_line(std::string_view line) {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    const EngineKind engine = engine_of(line);
    if (engine == EngineKind::unknown || (kind_ != EngineKind::unknown && engine != kind_)) return;
    line.remove_prefix(prefix_of(engine).size());
    const std::string_view name = metric_name(line);
    const KnownName* known = find_known(engine, name);
    if (known && read_sample(*known, SampleTail(line.substr(name.size())))) kind_ = engine;
  }

  Result<EngineSample> finish(std::size_t text_bytes) {
    if (kind_ == EngineKind::unknown)
      return fail(Fault::upstream, "no metrics of vLLM, SGLang or llama.cpp in a page of " +
                                       std::to_string(text_bytes) +
                                       " bytes; vLLM must not run with --disable-log-stats, SGLang needs "
                                       "--enable-metrics, llama.cpp --metrics");
    if (ranks_.empty()) {
      ranks_.push_back(whole_);
      ranks_.back().seen = true;
      whole_ = Rank{};
    }
    EngineSample result{kind_, std::move(model_), {}};
    const auto count =
        static_cast<double>(std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.seen; }));
    for (std::size_t number = 0; number < ranks_.size(); ++number) {
      Rank& rank = ranks_[number];
      if (!rank.seen) continue;
      share_out(whole_, rank, count);
      settle_counters(kind_, rank);
      assume_capacity(rank, count);
      rank.sample.rank = static_cast<std::uint32_t>(number);
      result.ranks.push_back(rank.sample);
    }
    return result;
  }

 private:
  // vLLM before kv_cache_size_tokens: num_gpu_blocks is the sum over all engines.
  static void assume_capacity(Rank& rank, double ranks) {
    RankSample& sample = rank.sample;
    if (sample.kv_capacity || !sample.block_size || rank.num_gpu_blocks.value_or(0) <= 0) return;
    sample.kv_capacity = tokens(*rank.num_gpu_blocks * *sample.block_size / ranks);
    sample.kv_capacity_assumed = true;
  }

  // False: the line is broken, or about a rank that cannot be.
  bool read_sample(const KnownName& known, SampleTail tail) {
    std::optional<std::uint32_t> number;
    std::string_view model;
    CacheConfig config;
    const std::string_view rank_label = rank_label_of(known.engine);
    while (const auto label = tail.next_label()) {
      if (label->name == rank_label && !label->value.empty()) {  // an empty label is none at all, says Prometheus
        const auto parsed = whole_number(label->value, most_ranks - 1);
        if (!parsed) return false;
        number = static_cast<std::uint32_t>(*parsed);
      } else if (label->name == "model_name") {
        model = label->value;
      } else if (known.field == Field::cache_config) {
        config.read(*label);
      }
    }
    const auto value = tail.well_formed() ? tail.value() : std::nullopt;
    if (!value) return false;
    if (model_.empty() && model.size() <= longest_model) model_ = unescaped(model);
    Rank& rank = number ? rank_at(*number) : whole_;
    if (known.field == Field::cache_config)
      apply(rank, config);
    else
      apply(rank, known, *value);
    return true;
  }

  Rank& rank_at(std::uint32_t number) {
    if (number >= ranks_.size()) ranks_.resize(number + 1);
    ranks_[number].seen = true;
    return ranks_[number];
  }

  EngineKind kind_ = EngineKind::unknown;
  std::string model_;
  std::vector<Rank> ranks_;  // by rank; those not seen are gaps
  Rank whole_;               // of lines that name no rank
};

}  // namespace

std::string_view name_of(EngineKind kind) {
  switch (kind) {
    case EngineKind::vllm:
      return "vllm";
    case EngineKind::sglang:
      return "sglang";
    case EngineKind::llama_cpp:
      return "llama.cpp";
    case EngineKind::unknown:
      break;
  }
  return "unknown";
}

Result<EngineSample> parse_metrics(std::string_view text) {
  const std::size_t whole = text.size();
  if (text.size() > most_text) {
    text = text.substr(0, most_text);
    const std::size_t last_end = text.rfind('\n');  // half a line could be half a number
    text = text.substr(0, last_end == std::string_view::npos ? 0 : last_end);
  }
  Page page;
  while (!text.empty()) page.read_line(take_line(text));
  return page.finish(whole);
}

}  // namespace wg::probe
