// warmgate: one file per subcommand; this one only finds the right one.
#include <CLI/CLI.hpp>
#include <iostream>

#include "app/commands.h"

int main(int argc, char** argv) {
  CLI::App app(
      "warmgate keeps every conversation on the replica that has its cache.\n"
      "\n"
      "examples:\n"
      "  warmgate serve --engine http://127.0.0.1:8000     a gateway in front of one vLLM with all its ranks\n"
      "  warmgate serve --config warmgate.yaml             the same from a file\n"
      "  warmgate check warmgate.yaml                      says what is wrong with the file\n"
      "  warmgate status                                   a running gateway: replicas, seats, what limits it\n"
      "  warmgate simulate                                 what policies would do for your machine and agents\n"
      "  warmgate bench --url http://127.0.0.1:8080        agents against a real server, and what came of it\n"
      "  warmgate demo                                     all of it in one process, without a GPU\n"
      "  warmgate replica --ranks 4 --speed 10             a simulated vLLM, to try all this without a GPU",
      "warmgate");
  app.set_version_flag("--version", std::string("warmgate ") + WARMGATE_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  app.get_formatter()->column_width(34);
  int status = 0;
  wg::app::add_serve(app, status);
  wg::app::add_check(app, status);
  wg::app::add_demo(app, status);
  wg::app::add_replica(app, status);
  wg::app::add_simulate(app, status);
  wg::app::add_bench(app, status);
  wg::app::add_replay(app, status);
  wg::app::add_status(app, status);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return "warmgate: " + std::string(error.what()) + "\nsee: " + failed->get_name() + " --help\n";
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;  // 0: --help and --version; else wrong use
  }
  return status;
}
