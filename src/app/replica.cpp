// warmgate replica: from the command line to a simulated engine.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "app/commands.h"
#include "config/config.h"
#include "replica/server.h"

namespace wg::app {
namespace {

struct Given {
  std::string listen = "127.0.0.1:8000", model, preset = "a4000-qwen3-4b", balancer, name = "replica", api_key;
  std::uint32_t ranks = 1, block_size = 16, max_num_seqs = 0;
  std::int64_t kv_tokens = 0;
  double speed = 1.0, network = -1;
  std::uint64_t seed = 1;
  std::size_t max_num_queued_reqs = 0;
  bool no_details = false, no_prefix_caching = false, no_admin = false;
};

Result<replica::Options> options_of(const Given& given) {
  auto preset = sim::preset_named(given.preset);
  if (!preset) return tl::unexpected(preset.error());
  const auto address = config::parse_address(given.listen);
  if (!address) return fail(Fault::client, "--listen " + given.listen + ": " + address.error().what);
  replica::Options options;
  options.host = address->host;
  options.port = address->port;
  options.name = given.name;
  options.model = given.model;
  options.ranks = given.ranks;
  options.balancer = preset->balancer;
  if (!given.balancer.empty()) {
    const auto balancer = sim::balancer_named(given.balancer);
    if (!balancer)
      return fail(Fault::client,
                  "unknown balancer '" + given.balancer + "'; known are " + std::string(sim::balancer_names));
    options.balancer = *balancer;
  }
  preset->engine.block_size = given.block_size;
  preset->engine.prefix_caching = !given.no_prefix_caching;
  if (given.kv_tokens > 0) preset->engine.kv_tokens = {given.kv_tokens};
  if (given.max_num_seqs > 0) preset->engine.max_num_seqs = given.max_num_seqs;
  if (given.kv_tokens > 0 && preset->engine.max_model_len > preset->engine.cache_holds())
    preset->engine.max_model_len = {0};  // as much as the smaller cache holds
  if (given.network >= 0) preset->network_s = given.network;
  options.preset = std::move(*preset);
  options.speed = given.speed;
  options.seed = given.seed;
  options.max_num_queued_reqs = given.max_num_queued_reqs;
  options.api_key = given.api_key;
  options.prompt_tokens_details = !given.no_details;
  options.admin = !given.no_admin;
  return replica::checked(std::move(options));
}

// Each stream needs a descriptor; the soft limit is often 1,024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int run(const Given& given) {
  const auto options = options_of(given);
  if (!options) {
    std::cerr << "warmgate replica: " << options.error().what << '\n';
    return 2;
  }
  raise_descriptor_limit();
  net::Loop loop;
  replica::Server server(loop, *options);
  if (const auto started = server.start(); !started) {
    std::cerr << "warmgate replica: " << started.error().what << '\n';
    return 1;
  }
  const net::Signals signals(loop, [&](int) {
    server.stop();
    loop.post([&loop] { loop.stop(); });
  });
  std::cout << "listening on http://" << config::Address{options->host, server.port()}.text() << std::endl;
  loop.run();
  return 0;
}

}  // namespace

void add_replica(CLI::App& app, int& status) {
  auto* const command =
      app.add_subcommand("replica", "Run a simulated vLLM: no GPU, real HTTP, real caches' behaviour");
  const auto given = std::make_shared<Given>();
  command->add_option("--listen", given->listen, "where clients connect (127.0.0.1:8000; port 0: any free one)");
  command->add_option("--model", given->model, "the model's name (the preset's)");
  command->add_option("--ranks", given->ranks, "data-parallel ranks on this port (1)");
  command->add_option("--preset", given->preset, "the machine: a4000-qwen3-4b (default), rtx5090-27b");
  command->add_option("--speed", given->speed, "the model's clock runs this many times faster (1)");
  command->add_option("--seed", given->seed, "of balancer, answers and faults (1)");
  command->add_option("--block-size", given->block_size, "tokens in a cache block (16)");
  command->add_option("--balancer", given->balancer, std::string(sim::balancer_names) + " (the preset's)");
  command->add_option("--name", given->name, "answers carry x-replica: NAME/RANK (replica)");
  command->add_option("--kv-tokens", given->kv_tokens, "cache of each rank (the preset's)")->check(CLI::PositiveNumber);
  command->add_option("--max-num-seqs", given->max_num_seqs, "requests at a time on each rank (the preset's)")
      ->check(CLI::PositiveNumber);
  command->add_option("--network", given->network, "seconds to and from the engine (the preset's)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--max-num-queued-reqs", given->max_num_queued_reqs,
                      "unfinished requests beyond which 503 is answered (no limit)");
  command->add_option("--api-key", given->api_key, "what /v1 paths need as Authorization: Bearer (none)");
  command->add_flag("--no-prompt-tokens-details", given->no_details, "tell no cached tokens, as vLLM by default");
  command->add_flag("--no-prefix-caching", given->no_prefix_caching, "every prompt is computed whole");
  command->add_flag("--no-admin", given->no_admin, "no /fault, no x-fault, x-output-tokens, x-finish");
  command->footer(
      "examples:\n"
      "  warmgate replica --ranks 4 --speed 10\n"
      "  warmgate replica --listen 127.0.0.1:0 --preset rtx5090-27b --model m --balancer inflight\n"
      "  curl http://127.0.0.1:8000/fault -d '{\"kind\":\"status-500\",\"count\":3}'\n\n"
      "Prints one line when ready: listening on http://H:P\n"
      "docs/replica.md tells what it answers and how it can be made to fail.");
  command->callback([given, &status] { status = run(*given); });
}

}  // namespace wg::app
