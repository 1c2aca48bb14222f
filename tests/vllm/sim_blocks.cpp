// The engine model as a filter: requests that a real vLLM has answered come in, one batch a line of JSON, and the
// model's counters after it go out, one line of JSON. compare_blocks.py holds them against the real ones.
//   sim_blocks BLOCKS BLOCK_SIZE MAX_NUM_SEQS MAX_NUM_BATCHED_TOKENS MAX_MODEL_LEN
//   in:  [{"prompt": [ids], "output": [ids]}, ...]   the first runs a step before the others arrive
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/engine.h"

namespace {

using namespace wg;
using nlohmann::json;

void step(sim::Engine& engine, std::vector<std::int64_t>& cached, RequestId first) {
  if (!engine.begin_step(TimePoint{})) return;
  for (const sim::StepOutput& output : engine.end_step())
    if (output.index == 0) cached[output.id - first] = output.cached.count;
}

json run(sim::Engine& engine, const json& batch, RequestId first) {
  std::vector<std::int64_t> cached(batch.size(), -1);
  RequestId id = first;
  for (const json& one : batch) {
    sim::EngineRequest request{id++, sim::TokenChain(engine.settings().block_size), {}, sim::FinishReason::length, {}};
    request.prompt.append(one.at("prompt").get<std::vector<sim::TokenId>>());
    request.answer = one.at("output").get<std::vector<sim::TokenId>>();
    if (const auto taken = engine.submit(std::move(request)); !taken) return {{"error", taken.error().what}};
    if (id == first + 1) step(engine, cached, first);
  }
  while (!engine.idle()) step(engine, cached, first);
  const sim::EngineCounters counters = engine.counters();
  return {{"queries", counters.prefix_queries},
          {"hits", counters.prefix_hits},
          {"stored", counters.blocks_stored},
          {"removed", counters.blocks_removed},
          {"preemptions", counters.preemptions},
          {"prompt_tokens", counters.prompt_tokens},
          {"prompt_tokens_cached", counters.prompt_tokens_cached},
          {"generation_tokens", counters.generation_tokens},
          {"cached", cached}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: sim_blocks BLOCKS BLOCK_SIZE MAX_NUM_SEQS MAX_NUM_BATCHED_TOKENS MAX_MODEL_LEN\n");
    return 2;
  }
  sim::EngineSettings settings;
  settings.block_size = static_cast<std::uint32_t>(std::atoi(argv[2]));
  settings.kv_tokens = {std::int64_t{std::atoi(argv[1])} * settings.block_size};
  settings.max_num_seqs = static_cast<std::uint32_t>(std::atoi(argv[3]));
  settings.max_num_batched_tokens = static_cast<std::uint32_t>(std::atoi(argv[4]));
  settings.max_model_len = {std::atoi(argv[5])};
  if (const auto valid = sim::checked(settings); !valid) {
    std::fprintf(stderr, "%s\n", valid.error().what.c_str());
    return 2;
  }
  sim::Engine engine(settings);
  RequestId next = 1;
  for (std::string line; std::getline(std::cin, line);) {
    const json batch = json::parse(line, nullptr, false);
    if (!batch.is_array() || batch.empty()) {
      std::fprintf(stderr, "not a JSON array of requests: %.60s\n", line.c_str());
      return 2;
    }
    std::cout << run(engine, batch, next).dump() << std::endl;
    next += batch.size();
  }
  return 0;
}
