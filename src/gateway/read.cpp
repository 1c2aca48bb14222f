// Stage 1: the request's head and body off the client's socket.
#include "gateway/stages.h"

namespace wg::gateway {
namespace {
constexpr std::size_t head_block = 8 * 1024;
constexpr std::size_t body_block = 256 * 1024;
constexpr std::uint64_t discard_bytes = 512ull << 20;
constexpr Duration discard_for = std::chrono::seconds(10), discard_idle = std::chrono::seconds(2);

tl::unexpected<Error> too_large(const config::Config& config) {
  return fail(Fault::client, "the body is longer than " + std::to_string(config.limits.body) + " bytes (limits.body)",
              413);
}

// Room to read into, if there is any left for bodies.
Result<std::span<char>> body_room(Connection& c, std::size_t size) {
  std::span<char> room;
  try {
    room = c.body.room(size);
  } catch (const std::bad_alloc&) {
    c.body.release();
  }
  if (room.empty() || !c.settle_body()) return fail(Fault::self, "the gateway has no memory left for this body", 503);
  return room;
}
}  // namespace

net::Task<HeadRead> read_head(Connection& c, Error& error) {
  const auto& timeouts = c.context.shared.config.timeouts;
  std::vector<std::string_view> no_body;
  std::optional<TimePoint> began;
  for (;;) {
    if (!c.input.empty()) {
      const auto progress = c.parser.feed(c.input.view(), no_body);
      if (!progress) {
        error = progress.error();
        co_return HeadRead::failed;
      }
      c.input.drop_front(progress->consumed);
      if (progress->head_complete) co_return HeadRead::complete;
    }
    // The head as a whole has a deadline, so that one byte a minute does not hold a connection for ever.
    Duration wait = timeouts.keep_alive;
    if (c.parser.started()) {
      if (!began) began = c.context.loop.now();
      wait = timeouts.request_head - (c.context.loop.now() - *began);
      if (wait <= Duration::zero()) wait = Duration(1);
    } else if (c.context.shared.draining) {
      co_return HeadRead::closed;
    }
    c.waiting_for_request = !c.parser.started();
    const auto size = co_await c.stream.read_some(c.input.room(head_block), wait);
    c.waiting_for_request = false;
    if (!size && size.error() == net::IoError::timed_out && c.parser.started()) {
      error = {Fault::client, "the request's head did not arrive in time", 408};
      co_return HeadRead::failed;
    }
    if (!size || *size == 0) co_return HeadRead::closed;
    c.input.grown(*size);
  }
}

net::Task<Result<void>> read_body(Connection& c) {
  const http::RequestHead& head = c.parser.head();
  const config::Config& config = c.context.shared.config;
  if (head.content_length.value_or(0) > config.limits.body) co_return too_large(config);
  std::vector<std::string_view> spans;
  std::uint64_t left = head.chunked ? body_block : head.content_length.value_or(0);
  take_body_buffer(c);
  if (!c.input.empty()) {  // what came with the head
    const auto progress = c.parser.feed(c.input.view(), spans);
    if (!progress) co_return tl::unexpected(progress.error());
    for (const std::string_view span : spans) c.body.append(span);
    c.input.drop_front(progress->consumed);
    if (progress->complete) co_return Result<void>();
  }
  for (;;) {
    // A body of known length is never read past its end; of a chunked one the next request's bytes may come along.
    if (!head.chunked) left = *head.content_length - c.body.size();
    const auto found = body_room(c, static_cast<std::size_t>(std::min<std::uint64_t>(left, body_block)));
    if (!found) co_return tl::unexpected(found.error());
    std::span<char> room = *found;
    if (!head.chunked && room.size() > left) room = room.first(static_cast<std::size_t>(left));
    const auto size = co_await c.stream.read_some(room, c.context.shared.config.timeouts.request_body);
    if (!size && size.error() == net::IoError::timed_out)
      co_return fail(Fault::client, "the request's body did not arrive in time", 408);
    if (!size || *size == 0) co_return fail(Fault::cancelled, "the client left within the body");
    const std::string_view arrived(room.data(), *size);
    spans.clear();
    const auto progress = c.parser.feed(arrived, spans);
    if (!progress) co_return tl::unexpected(progress.error());
    c.input.append(arrived.substr(progress->consumed));
    for (const std::string_view span : spans) c.body.append(span);  // in place: chunk framing only shrinks
    if (c.body.size() > config.limits.body) co_return too_large(config);
    if (progress->complete) co_return Result<void>();
  }
}

net::Task<void> discard_rest(Connection& c) {
  c.stream.shutdown_write();
  const TimePoint until = c.context.loop.now() + discard_for;
  std::uint64_t seen = 0;
  c.input.clear();
  while (seen < discard_bytes && c.context.loop.now() < until) {
    const auto size = co_await c.stream.read_some(c.input.room(body_block), discard_idle);
    if (!size || *size == 0) break;
    seen += *size;
  }
}

}  // namespace wg::gateway
