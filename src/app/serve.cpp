// warmgate serve: from the command line to a running gateway.
#include <CLI/CLI.hpp>
#include <iostream>

#include "app/commands.h"
#include "app/server.h"
#include "config/config.h"

namespace wg::app {
namespace {

struct Options {
  std::string config, listen, admin, policy;
  std::vector<std::string> engines;
  std::uint32_t threads = 0;
  double time_scale = 1.0;
};

int wrong(const std::string& what) {
  std::cerr << "warmgate serve: " << what << '\n';
  return 2;
}

// --engine URLs become one pool each at most: engines of the same model share the first one's.
Result<void> add_engines(config::Config& config, const std::vector<std::string>& urls) {
  for (const std::string& text : urls) {
    const auto url = config::parse_url(text);
    if (!url) return fail(Fault::client, "--engine " + text + ": " + url.error().what);
    config::Engine engine;
    engine.url = *url;
    engine.name = "engine" + std::to_string(config.pools.size() + 1);  // not its address: clients see it
    for (const auto& pool : config.pools)
      for (const auto& other : pool.engines)
        if (other.url.text() == engine.url.text()) return fail(Fault::client, "--engine " + text + ": given twice");
    config::Pool pool;
    pool.engines.push_back(std::move(engine));
    config.pools.push_back(std::move(pool));
  }
  return {};
}

Result<void> apply(config::Config& config, const Options& options) {
  for (const auto& [text, target, name] : {std::tuple(&options.listen, &config.listen, "--listen"),
                                           std::tuple(&options.admin, &config.admin, "--admin")}) {
    if (text->empty()) continue;
    const auto address = config::parse_address(*text);
    if (!address) return fail(Fault::client, std::string(name) + " " + *text + ": " + address.error().what);
    *target = *address;
  }
  if (!options.policy.empty()) {
    const auto policy = policy::policy_named(options.policy);
    if (!policy)
      return fail(Fault::client, "--policy " + options.policy +
                                     ": there is none of that name; allowed: " + std::string(policy::policy_names));
    for (auto& pool : config.pools) pool.policy = *policy;
  }
  if (options.threads > 0) config.threads = options.threads;
  config.time_scale = options.time_scale;
  return {};
}

// Until SIGTERM or SIGINT. 0: drained, within timeouts.drain; 1: could not start, or a second signal ended it.
int run_gateway(const config::Config& config) try {
  Gateway gateway(config);
  const auto started = gateway.start(
      [&gateway] { std::cout << "listening on " << gateway.url() << " admin " << gateway.admin_url() << std::endl; });
  if (!started) {
    std::cerr << "warmgate serve: " << started.error().what << '\n';
    return 1;
  }
  const net::Signals signals(gateway.loop(), [&gateway](int) { gateway.drain(); });
  return gateway.run();
} catch (const std::exception& error) {
  std::cerr << "warmgate serve: " << error.what() << '\n';
  return 1;
}

int serve(const Options& options) {
  config::Config config;
  if (!options.config.empty() && !options.engines.empty())
    return wrong("--config and --engine exclude each other: put the engines into the file");
  if (options.config.empty() && options.engines.empty())
    return wrong("no engine: give --engine http://HOST:PORT (repeatable) or --config FILE");
  if (!options.config.empty()) {
    auto loaded = config::load_file(options.config);
    for (const auto& problem : loaded.problems) std::cerr << config::format(problem, options.config) << '\n';
    if (!loaded.ok()) return 2;
    config = std::move(loaded.config);
  } else if (const auto added = add_engines(config, options.engines); !added) {
    return wrong(added.error().what);
  }
  if (const auto applied = apply(config, options); !applied) return wrong(applied.error().what);
  return run_gateway(config);
}

}  // namespace

void add_serve(CLI::App& app, int& status) {
  auto* const command = app.add_subcommand("serve", "Run the gateway");
  const auto options = std::make_shared<Options>();
  command->add_option("--engine", options->engines,
                      "a model server's base URL; repeatable; model, ranks and KV capacity are found out");
  command->add_option("--config", options->config, "a YAML file for everything else (see: warmgate check)");
  command->add_option("--listen", options->listen, "where clients connect (127.0.0.1:8080; port 0: any free one)");
  command->add_option("--admin", options->admin, "where operators connect: /metrics, /api/v1 (127.0.0.1:8081)");
  command->add_option("--policy", options->policy, "for all pools: " + std::string(policy::policy_names));
  command->add_option("--threads", options->threads, "I/O threads (1)")->check(CLI::Range(1, 64));
  command->add_option("--time-scale", options->time_scale, "for tests: the fleet's clock runs this many times faster")
      ->check(CLI::Range(0.01, 1000.0));
  command->footer(
      "examples:\n"
      "  warmgate serve --engine http://127.0.0.1:8000\n"
      "  warmgate serve --engine http://gpu1:8000 --engine http://gpu2:8000 --listen 0.0.0.0:8080\n"
      "  warmgate serve --config /etc/warmgate/warmgate.yaml --policy least\n\n"
      "Prints one line when ready: listening on http://H:P admin http://H:P\n"
      "SIGTERM drains: no new requests, open streams finish, then exit status 0. A second SIGTERM ends at once.");
  command->callback([options, &status] { status = serve(*options); });
}

}  // namespace wg::app
