// warmgate demo: the whole thing in one process without a GPU, and what it is good for.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "app/commands.h"
#include "app/demo_run.h"
#include "app/demo_table.h"

namespace wg::app {
namespace {

struct Given {
  std::string length = "60s", policy = "sticky", preset = "a4000-qwen3-4b", listen = "127.0.0.1:0",
              admin = "127.0.0.1:0";
  bool json = false;
};

Result<config::Address> address(const char* option, const std::string& text) {
  auto parsed = config::parse_address(text);
  if (!parsed) return fail(Fault::client, std::string(option) + " " + text + ": " + parsed.error().what);
  return *parsed;
}

Result<void> apply(DemoOptions& options, const Given& given) {
  const auto preset = sim::preset_named(given.preset);
  if (!preset) return fail(Fault::client, "--preset: " + preset.error().what);
  options.preset = *preset;
  const auto policy = policy::policy_named(given.policy);
  if (!policy)
    return fail(Fault::client, "--policy " + given.policy +
                                   ": there is none of that name; allowed: " + std::string(policy::policy_names));
  options.policies = {*policy};
  if (*policy != policy::PolicyName::off) options.policies.push_back(policy::PolicyName::off);
  const auto length = config::parse_duration(given.length);
  if (!length || *length <= Duration::zero())
    return fail(Fault::client, "--for " + given.length + ": write a time as 30s or 2m");
  options.length = *length;
  const auto listen = address("--listen", given.listen), admin = address("--admin", given.admin);
  if (!listen) return tl::unexpected(listen.error());
  if (!admin) return tl::unexpected(admin.error());
  options.listen = *listen, options.admin = *admin;
  options.show = !given.json;
  options.in_place = options.show && isatty(STDOUT_FILENO) != 0;
  return {};
}

void print_json(const DemoResult& result, const DemoOptions& options) {
  std::cout << "{\"preset\":\"" << options.preset.name << "\",\"ranks\":" << options.ranks
            << ",\"speed\":" << options.speed << ",\"interrupted\":" << (result.interrupted ? "true" : "false")
            << ",\"rows\":[";
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    std::cout << (i > 0 ? "," : "") << bench::json_of(result.rows[i]);
  std::cout << "]}" << std::endl;
}

int demo(DemoOptions& options, const Given& given) try {
  if (const auto applied = apply(options, given); !applied) {
    std::cerr << "warmgate demo: " << applied.error().what << '\n';
    return 2;
  }
  const auto result = run_demo(options);
  if (!result) {
    std::cerr << "warmgate demo: " << result.error().what << '\n';
    return 1;
  }
  if (given.json) print_json(*result, options);
  if (!given.json && result->rows.size() == 2)
    for (const std::string& line : comparison_lines(result->rows[0], result->rows[1], options.speed))
      std::cout << line << '\n';
  std::uint64_t failures = 0, turns = 0;
  for (const bench::Row& row : result->rows) failures += row.failures, turns += row.turns;
  if (failures > 0)
    std::cerr << "warmgate demo: " << failures << " turn(s) failed, the last: " << result->last_failure << '\n';
  return failures == 0 && (turns > 0 || result->interrupted) ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "warmgate demo: " << error.what() << '\n';
  return 1;
}

}  // namespace

void add_demo(CLI::App& app, int& status) {
  auto* const command =
      app.add_subcommand("demo", "Gateway, simulated replicas and coding agents in one process, without a GPU");
  const auto given = std::make_shared<Given>();
  const auto options = std::make_shared<DemoOptions>();
  command->add_option("--for", given->length, "how long, all in all (60s): one half with --policy, one with `off`");
  command->add_option("--sessions", options->sessions, "agent sessions at a time (8)")->check(CLI::Range(1, 1000));
  command->add_option("--policy", given->policy,
                      "what is compared with `off` (sticky): " + std::string(policy::policy_names));
  command->add_option("--ranks", options->ranks, "simulated replicas (4)")->check(CLI::Range(1, 64));
  command->add_option("--preset", given->preset, "the modelled GPU and model (a4000-qwen3-4b)");
  command->add_option("--speed", options->speed, "the modelled GPUs run so many times faster than real ones (8)")
      ->check(CLI::Range(0.1, 100.0));
  command->add_option("--seed", options->seed, "another seed, other prompts (1)");
  command->add_option("--listen", given->listen, "where clients connect (any free port of 127.0.0.1)");
  command->add_option("--admin", given->admin, "where operators connect (any free port of 127.0.0.1)");
  command->add_flag("--json", given->json, "no table; the figures of both runs as JSON at the end");
  command->footer(
      "examples:\n"
      "  warmgate demo\n"
      "  warmgate demo --for 3m --sessions 16\n"
      "  warmgate demo --policy least --json\n\n"
      "Ctrl-C at any time ends it and shows what there is. Exit status: 0 fine, 1 turns failed or none was answered,\n"
      "2 wrong use.");
  command->callback([given, options, &status] { status = demo(*options, *given); });
}

}  // namespace wg::app
