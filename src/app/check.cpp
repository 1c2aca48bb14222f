// warmgate check FILE: what is wrong with a configuration, all of it at once.
#include <CLI/CLI.hpp>
#include <iostream>

#include "app/commands.h"
#include "config/config.h"

namespace wg::app {
namespace {

int check(const std::string& file) {
  const config::Loaded loaded = config::load_file(file);
  for (const config::Problem& problem : loaded.problems) std::cout << config::format(problem, file) << '\n';
  if (!loaded.ok()) return 1;
  std::size_t engines = 0;
  for (const auto& pool : loaded.config.pools) engines += pool.engines.size();
  std::cout << file << ": fine: " << loaded.config.pools.size() << " pool(s), " << engines << " engine(s)\n";
  return 0;
}

}  // namespace

void add_check(CLI::App& app, int& status) {
  auto* const command = app.add_subcommand("check", "Say what is wrong with a configuration file, by line and key");
  const auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "the YAML file")->required();
  command->footer(
      "example:\n  warmgate check /etc/warmgate/warmgate.yaml\n\nexit status: 0 fine, 1 problems (printed one a line)");
  command->callback([file, &status] { status = check(*file); });
}

}  // namespace wg::app
