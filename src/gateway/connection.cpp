// Stage 0: client connections, from accept to close.
#include "gateway/connection.h"

#include <array>
#include <limits>

#include "core/reserve.h"
#include "dialect/error_body.h"
#include "gateway/stages.h"
#include "http/header_rules.h"
#include "net/dial.h"

namespace wg::gateway {
namespace {

constexpr Duration linger_for = std::chrono::seconds(1);
constexpr std::size_t linger_bytes = 1 << 20;
// A loop keeps a few buffers for all its connections: memory is then bounded by them, not by who is connected, and is
// not asked of the system anew for each large body.
constexpr std::size_t kept_body_bytes = 1 << 20, kept_bodies = 16;

http::Limits limits_of(const config::Config& config) {
  http::Limits limits;
  limits.head_bytes = config.limits.headers;
  limits.body_bytes = std::numeric_limits<std::uint64_t>::max();  // read_body() bounds it, where the dialect is known
  return limits;
}

// One write. Then what the client has sent must be read, or its kernel throws the answer away; but not for long and
// not for many at a time: a flood must cost little.
net::Task<void> refuse_connection(LoopContext& context, net::Stream& stream) {
  Shared& shared = context.shared;
  shared.metrics.count_refused_connection();
  const bool by_config = shared.max_connections >= shared.config.limits.connections;
  std::string out;
  const std::vector<Header> retry{{"Retry-After", "1"}};
  http::write_answer(out, 503, "application/json",
                     dialect::error_body(dialect::Shape::openai, 503,
                                         by_config ? "too many connections: limits.connections is reached"
                                                   : "too many connections: the gateway may open no more descriptors"),
                     false, retry);
  if (!stream.write_now(out)) co_return;
  stream.shutdown_write();
  stream.discard_arrived();
  if (shared.lingering.fetch_add(1, std::memory_order_relaxed) < shared.max_lingering) {
    std::array<char, 4096> unwanted;
    const TimePoint until = context.loop.now() + linger_for;
    for (std::size_t seen = 0; seen < linger_bytes && context.loop.now() < until;) {
      const auto size = co_await stream.read_some(unwanted, linger_for);
      if (!size || *size == 0) break;
      seen += *size;
    }
  }
  shared.lingering.fetch_sub(1, std::memory_order_relaxed);
}

void give_body_buffer(Connection& c) {
  auto& spare = c.context.spare_bodies;
  if (c.body.capacity() > 0 && c.body.capacity() <= kept_body_bytes && spare.size() < kept_bodies &&
      !c.context.shared.bodies.is_tight())
    spare.push_back(std::move(c.body));
  c.body.release();
  c.settle_body();
}

net::Task<void> exchanges(Connection& connection) {
  for (;;) {
    const After after = co_await exchange(connection);
    if (after == After::close) co_return;
    connection.parser.reset();
    give_body_buffer(connection);  // the next request may have no body: it must not find this one's
  }
}

}  // namespace

LoopContext::LoopContext(net::Loop& its_loop, Shared& its_shared) : loop(its_loop), shared(its_shared) {
  for (const config::Pool& pool : shared.config.pools)
    for (const config::Engine& engine : pool.engines) {
      const Duration oldest = net::is_address(engine.url.host) ? Duration::zero() : net::name_trusted_for;
      idle.push_back(std::make_unique<net::IdlePool>(loop, shared.config.timeouts.upstream_keep_alive, oldest));
    }
}

LoopContext::~LoopContext() = default;

void take_body_buffer(Connection& c) {
  auto& spare = c.context.spare_bodies;
  if (c.body.capacity() == 0 && !spare.empty()) {
    c.body = std::move(spare.back());
    spare.pop_back();
    c.settle_body();
  }
  c.body.clear();
}

Connection::Connection(LoopContext& its_context, net::Stream its_stream)
    : context(its_context), stream(std::move(its_stream)), parser(limits_of(its_context.shared.config)) {
  context.open.insert(this);
}

Connection::~Connection() {
  context.shared.bodies.give(charged_);
  context.open.erase(this);
  context.shared.connections.fetch_sub(1, std::memory_order_relaxed);
}

void Connection::close_if_waiting() {
  if (waiting_for_request) stream.cancel();
}

bool Connection::settle_body() {
  BodyRoom& room = context.shared.bodies;
  const std::uint64_t held = body.capacity();
  if (held > charged_ && !room.take(held - charged_)) {
    body.release();
    room.give(charged_);
    charged_ = 0;
    return false;
  }
  if (held < charged_) room.give(charged_ - held);
  charged_ = held;
  return true;
}

net::Task<void> serve(LoopContext& context, net::Stream stream) {
  if (context.shared.connections.fetch_add(1, std::memory_order_relaxed) >= context.shared.max_connections) {
    context.shared.connections.fetch_sub(1, std::memory_order_relaxed);
    co_await refuse_connection(context, stream);
    co_return;
  }
  Connection connection(context, std::move(stream));
  try {
    co_await exchanges(connection);
  } catch (const std::bad_alloc&) {
    reserve::losses.fetch_add(1, std::memory_order_relaxed);
    connection.stream.reset();
  }
}

void drain(LoopContext& context) {
  for (Connection* const connection : std::vector<Connection*>(context.open.begin(), context.open.end()))
    connection->close_if_waiting();
}

void cut_off(LoopContext& context) {
  for (Connection* const connection : context.open) connection->stream.reset();
}

}  // namespace wg::gateway
