// The subcommands: each adds itself to the command line and leaves its exit status: 0 fine, 1 the thing failed, 2 wrong
// use.
#pragma once

namespace CLI {
class App;
}

namespace wg::app {

void add_serve(CLI::App& app, int& status);
void add_check(CLI::App& app, int& status);
void add_demo(CLI::App& app, int& status);
void add_replica(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);
void add_replay(CLI::App& app, int& status);
void add_simulate(CLI::App& app, int& status);
void add_status(CLI::App& app, int& status);

}  // namespace wg::app
