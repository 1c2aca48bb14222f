#include "replica/site.h"

#include <algorithm>
#include <cstdio>

#include "core/hash.h"

namespace wg::replica {
namespace {

// After an engine core has died, vLLM still answers /health for so long; then the process is gone.
constexpr Duration dies_for = std::chrono::seconds(5);
constexpr Duration down_by_default = std::chrono::seconds(10);
constexpr Duration bind_again = std::chrono::milliseconds(100);
constexpr http::Limits limits{.head_bytes = 64 * 1024, .body_bytes = 256ull << 20};

}  // namespace

Connection::Connection(net::Stream accepted) : stream(std::move(accepted)), parser(limits) {}

Site::Site(net::Loop& its_loop, const Options& its_options)
    : loop(its_loop),
      options(its_options),
      model(options.model.empty() ? options.preset.model : options.model),
      group(loop, options),
      life_timer_(loop, [this] {
        if (life == Life::dying)
          go_down(then_down_for_, {});
        else if (life == Life::down)
          come_back();
      }) {}

std::string Site::new_id() {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(mix(options.seed ^ port, ++ids_)));
  return text;
}

Result<void> Site::listen() {
  auto bound = net::Listener::bind(loop, options.host, port ? port : options.port, false);
  if (!bound) return tl::unexpected(bound.error());
  port = bound->port();
  listener = std::make_unique<net::Listener>(std::move(*bound));
  listener->start(
      [weak = weak_from_this()](net::Stream stream) {
        if (auto site = weak.lock()) net::spawn(serve(std::move(site), std::move(stream)));
      },
      [](std::string_view) {});
  return {};
}

Result<void> Site::start() { return listen(); }

void Site::stop() {
  if (life == Life::stopped) return;
  life = Life::stopped;
  life_timer_.cancel();
  listener.reset();
  cut_connections();
}

// Each connection's coroutine sees `gone` and ends.
void Site::cut_connections(bool idle_only) {
  const auto keep_alive = shared_from_this();
  const std::list<Connection*> all = connections;
  for (Connection* connection : all) {
    // One that goes on may end others.
    if (std::find(connections.begin(), connections.end(), connection) == connections.end()) continue;
    if (connection->is_admin || (idle_only && connection->flight)) continue;
    connection->gone = true;
    connection->stream.reset();
    if (connection->flight) connection->flight->nudge();
  }
}

void Site::carry_out(const FaultOrder& order) {
  faults.count(order.kind);
  const Duration down_for = order.lasts.value_or(down_by_default);
  switch (order.kind) {
    case FaultKind::die_group:
      return die_group(order.rank.value_or(0), down_for);
    case FaultKind::refuse:
      // Only the door is shut: what is running goes on.
      listener.reset();
      life = Life::down;
      cut_connections(true);
      life_timer_.set(group.real(down_for));
      return;
    case FaultKind::other_model:
      return go_down(down_for, order.model.empty() ? options.model + "-other" : order.model);
    default:
      return go_down(down_for, {});
  }
}

void Site::die_group(std::uint32_t killed, Duration down_for) {
  if (life != Life::up) return;
  life = Life::dying;
  then_down_for_ = down_for;
  life_timer_.set(group.real(dies_for));
  group.die(killed);
}

void Site::go_down(Duration down_for, std::string next_model) {
  if (life == Life::stopped) return;
  life = Life::down;
  next_model_ = std::move(next_model);
  listener.reset();
  life_timer_.set(group.real(down_for));
  cut_connections();
  group.die(0);
}

void Site::come_back() {
  if (listener || listen()) {
    life = Life::up;
    if (!next_model_.empty()) model = std::exchange(next_model_, {});
  } else {
    life_timer_.set(bind_again);  // somebody else has the port
  }
}

}  // namespace wg::replica
