// libFuzzer: any bytes as a configuration file. No exception gets out; each problem has a message and a place in the
// file; and a configuration that may be used has what the program relies on.
#include <string>

#include "config/config.h"
#include "require.h"

namespace {

using wg::fuzz::require;

void check_usable(const wg::config::Config& config) {
  require(!config.pools.empty(), "a pool");
  require(config.threads >= 1, "a thread");
  require(config.limits.connections >= 1 && config.sessions.limit >= 1, "limits are not zero");
  require(config.time_scale > 0, "time passes");
  for (const wg::config::Pool& pool : config.pools) {
    require(!pool.model.empty() && !pool.engines.empty(), "a pool has a model and engines");
    for (const wg::config::Engine& engine : pool.engines) {
      require(!engine.name.empty() && engine.name.find('/') == std::string::npos, "an engine's name is part of an id");
      require(!engine.url.host.empty() && engine.url.port != 0, "an engine can be dialled");
      require(!engine.ranks || *engine.ranks >= 1, "no engine has no rank");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(wg::fuzz::text_of(data, size));
  const wg::config::Loaded loaded = wg::config::load_text(text, "fuzz.yaml");
  for (const wg::config::Problem& problem : loaded.problems) {
    require(!problem.message.empty(), "a problem says what it is");
    require(problem.line >= 0 && problem.column >= 0 && problem.line <= static_cast<int>(size) + 1,
            "a place in the file");
    for (const char c : wg::config::format(problem, "fuzz.yaml")) require(c != '\n' && c != '\0', "one printable line");
  }
  if (loaded.ok()) check_usable(loaded.config);
  return 0;
}
