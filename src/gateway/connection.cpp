// Stage 0: client connections, from accept to close.
#include "gateway/connection.h"

#include <limits>

#include "dialect/error_body.h"
#include "gateway/stages.h"
#include "http/header_rules.h"

namespace wg::gateway {
namespace {

constexpr std::size_t keep_body_buffer = 256 * 1024;  // a larger one is given back between requests

http::Limits limits_of(const config::Config& config) {
  http::Limits limits;
  limits.head_bytes = config.limits.headers;
  limits.body_bytes = std::numeric_limits<std::uint64_t>::max();  // read_body() bounds it, where the dialect is known
  return limits;
}

// One write, no waiting: a flood must not cost more than this.
void refuse_connection(LoopContext& context, net::Stream& stream) {
  context.shared.metrics.count_refused_connection();
  std::string out;
  const std::vector<Header> retry{{"Retry-After", "1"}};
  http::write_answer(
      out, 503, "application/json",
      dialect::error_body(dialect::Shape::openai, 503, "too many connections: limits.connections is reached"), false,
      retry);
  stream.write_now(out);
}

net::Task<void> exchanges(Connection& connection) {
  for (;;) {
    const After after = co_await exchange(connection);
    if (after == After::close) co_return;
    connection.parser.reset();
    if (connection.body.size() > keep_body_buffer) connection.body.release();
  }
}

}  // namespace

LoopContext::LoopContext(net::Loop& its_loop, Shared& its_shared) : loop(its_loop), shared(its_shared) {
  for (const config::Pool& pool : shared.config.pools)
    for (std::size_t i = 0; i < pool.engines.size(); ++i)
      idle.push_back(std::make_unique<net::IdlePool>(loop, shared.config.timeouts.upstream_keep_alive));
}

LoopContext::~LoopContext() = default;

Connection::Connection(LoopContext& its_context, net::Stream its_stream)
    : context(its_context), stream(std::move(its_stream)), parser(limits_of(its_context.shared.config)) {
  context.open.insert(this);
}

Connection::~Connection() {
  context.open.erase(this);
  context.shared.connections.fetch_sub(1, std::memory_order_relaxed);
}

void Connection::close_if_waiting() {
  if (waiting_for_request) stream.cancel();
}

net::Task<void> serve(LoopContext& context, net::Stream stream) {
  if (context.shared.connections.fetch_add(1, std::memory_order_relaxed) >= context.shared.config.limits.connections) {
    context.shared.connections.fetch_sub(1, std::memory_order_relaxed);
    refuse_connection(context, stream);
    co_return;
  }
  Connection connection(context, std::move(stream));
  try {
    co_await exchanges(connection);
  } catch (const std::bad_alloc&) {
    context.shared.log.error("out of memory: a connection was dropped");
    connection.stream.reset();
  }
}

void drain(LoopContext& context) {
  for (Connection* const connection : std::vector<Connection*>(context.open.begin(), context.open.end()))
    connection->close_if_waiting();
}

}  // namespace wg::gateway
