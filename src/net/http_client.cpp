#include "net/http_client.h"

#include <array>

#include "http/h1.h"
#include "net/dial.h"

namespace wg::net {
namespace {

constexpr std::size_t read_block = 64 * 1024;

tl::unexpected<Error> io_failure(IoError error, const char* while_doing) {
  const Fault fault = error == IoError::timed_out   ? Fault::timeout
                      : error == IoError::exhausted ? Fault::self
                                                    : Fault::upstream;
  return fail(fault, std::string(name_of(error)) + " while " + while_doing);
}

}  // namespace

Task<Result<Reply>> HttpClient::get(std::string_view path, Duration timeout, std::size_t max_bytes) {
  return send("GET", path, "", timeout, max_bytes);
}

Task<Result<Reply>> HttpClient::send(std::string_view method, std::string_view path, std::string_view body,
                                     Duration timeout, std::size_t max_bytes) {
  std::string request = std::string(method) + " " + target_.base_path + std::string(path) +
                        " HTTP/1.1\r\nHost: " + target_.host + ":" + std::to_string(target_.port) +
                        "\r\nUser-Agent: warmgate\r\nAccept: */*\r\n";
  if (!target_.credential.empty()) request += "Authorization: Bearer " + target_.credential + "\r\n";
  if (method != "GET")
    request += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  request.append("\r\n").append(body);

  const bool follows_name = !is_address(target_.host);
  const bool kept = stream_ && stream_.idle_and_open() && !(follows_name && stream_.age() > name_trusted_for);
  auto first = co_await exchange(request, timeout, max_bytes, !kept);
  // A kept connection may have been closed by the engine at this very moment: that says nothing about its health.
  if (first || !kept || first.error().fault == Fault::timeout) co_return first;
  auto second = co_await exchange(request, timeout, max_bytes, true);
  co_return second;
}

Task<Result<Reply>> HttpClient::exchange(const std::string& request, Duration timeout, std::size_t max_bytes,
                                         bool fresh) {
  if (fresh) {
    Dial dial(loop_, target_.host, target_.port, timeout);
    auto dialled = co_await dial;
    if (!dialled) co_return io_failure(dialled.error(), "connecting");
    stream_ = std::move(*dialled);
  }
  Stream stream = std::move(stream_);  // given back only after a complete exchange
  const std::array<std::string_view, 1> pieces{request};
  const auto sent = co_await stream.write(pieces, timeout);
  if (!sent) co_return io_failure(sent.error(), "sending");

  http::ResponseParser parser(http::answer_limits);
  parser.reset(false);
  Reply reply;
  std::vector<char> buffer(read_block);
  std::vector<std::string_view> spans;
  for (;;) {
    const auto size = co_await stream.read_some(buffer, timeout);
    if (!size) co_return io_failure(size.error(), "reading the answer");
    if (*size == 0) {
      if (!parser.finish()) co_return fail(Fault::upstream, "closed before the answer was complete");
      co_return reply;
    }
    for (std::string_view rest(buffer.data(), *size); !rest.empty();) {
      spans.clear();
      const auto progress = parser.feed(rest, spans);
      if (!progress) co_return tl::unexpected(progress.error());
      if (progress->head_complete) reply.status = parser.head().status;
      for (const auto span : spans) reply.body.append(span);
      if (reply.body.size() > max_bytes)
        co_return fail(Fault::upstream, "an answer of more than " + std::to_string(max_bytes) + " bytes");
      rest.remove_prefix(progress->consumed);
      if (!progress->complete) continue;
      if (parser.head().keep_alive && rest.empty()) stream_ = std::move(stream);
      co_return reply;
    }
  }
}

}  // namespace wg::net
