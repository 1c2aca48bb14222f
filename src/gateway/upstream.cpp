// Reading an engine's answer, and giving its connection back.
#include "gateway/stages.h"

namespace wg::gateway {
namespace {

constexpr std::size_t read_block = 16 * 1024;
constexpr std::size_t kept_bytes = 64 * 1024;  // of a buffer that is used again
constexpr std::size_t spares = 64;             // per loop

// Feeds what has been read, or reads more and feeds that. False: the connection broke within the message.
net::Task<net::IoResult<http::Progress>> advance(Upstream& up, std::vector<std::string_view>& spans, Duration timeout) {
  if (up.unparsed.empty()) {
    up.buffer.clear();
    const std::span<char> room = up.buffer.room(read_block);
    const auto size = co_await up.stream.read_some(room, timeout);
    if (!size) co_return tl::unexpected(size.error());
    if (*size == 0) {
      if (!up.parser.finish()) co_return tl::unexpected(net::IoError::closed);
      co_return http::Progress{0, false, true};
    }
    up.unparsed = {room.data(), *size};
  }
  const auto progress = up.parser.feed(up.unparsed, spans);
  if (!progress) co_return tl::unexpected(net::IoError::closed);
  up.unparsed.remove_prefix(progress->consumed);
  co_return *progress;
}

}  // namespace

net::Task<net::IoResult<void>> read_response_head(Exchange& x) {
  Upstream& up = *x.upstream;
  std::vector<std::string_view> spans;
  for (;;) {
    const auto progress = co_await advance(up, spans, x.shared.config.timeouts.first_byte);
    if (!progress) co_return tl::unexpected(progress.error());
    up.complete = progress->complete;
    if (progress->head_complete) co_return net::IoResult<void>();
    if (up.complete) co_return tl::unexpected(net::IoError::closed);
  }
}

net::Task<net::IoResult<void>> read_response_body(Exchange& x, std::vector<std::string_view>& spans, Duration timeout) {
  Upstream& up = *x.upstream;
  spans.clear();
  while (spans.empty() && !up.complete) {
    const auto progress = co_await advance(up, spans, timeout);
    if (!progress) co_return tl::unexpected(progress.error());
    up.complete = progress->complete;
  }
  co_return net::IoResult<void>();
}

void Upstream::clear() {
  stream = net::Stream();
  unparsed = {};
  if (held.capacity() > kept_bytes) held.release();
  held.clear();
  buffer.clear();
  reused = complete = is_stream = torn = false;
}

Upstream& open_upstream(Exchange& x, EngineIndex engine) {
  auto& spare = x.context.spare_upstreams;
  if (spare.empty()) {
    x.upstream = std::make_unique<Upstream>();
  } else {
    x.upstream = std::move(spare.back());
    spare.pop_back();
  }
  x.upstream->engine = engine;
  x.upstream->parser.reset(x.head.method == "HEAD");
  return *x.upstream;
}

void close_upstream(Exchange& x) {
  if (!x.upstream) return;
  auto& spare = x.context.spare_upstreams;
  // A parser that met nonsense stays dead.
  if (x.upstream->complete && spare.size() < spares) {
    x.upstream->clear();
    spare.push_back(std::move(x.upstream));
  }
  x.upstream.reset();
}

void release_upstream(Exchange& x) {
  Upstream& up = *x.upstream;
  if (up.complete && up.parser.head().keep_alive && up.unparsed.empty() && up.stream && !up.torn)
    x.context.idle[up.engine]->give_back(std::move(up.stream));
  close_upstream(x);
}

}  // namespace wg::gateway
