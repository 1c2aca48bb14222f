#include "replica/server.h"

#include "replica/site.h"

namespace wg::replica {

Result<Options> checked(Options options) {
  const auto wrong = [](std::string what) { return fail(Fault::client, std::move(what)); };
  if (options.ranks == 0) return wrong("ranks must be at least 1");
  if (options.ranks > 256) return wrong("ranks must be at most 256");
  if (!(options.speed >= 0.01) || options.speed > 1000) return wrong("speed must be between 0.01 and 1000");
  if (options.name.empty()) return wrong("the name must not be empty");
  if (!(options.preset.network_s >= 0) || options.preset.network_s > 3600)
    return wrong("network time must be from 0 to 3600 seconds");
  if (const auto engine = sim::checked(options.preset.engine); !engine) return tl::unexpected(engine.error());
  if (options.model.empty()) options.model = options.preset.model;
  return options;
}

struct Server::State {
  std::shared_ptr<Site> site;
};

Server::Server(net::Loop& loop, const Options& options)
    : state_(std::make_shared<State>(State{std::make_shared<Site>(loop, options)})) {}
Server::~Server() { stop(); }

Result<void> Server::start() { return state_->site->start(); }
std::uint16_t Server::port() const { return state_->site->port; }
void Server::stop() { state_->site->stop(); }

}  // namespace wg::replica
