#include "bench/caller.h"

#include <array>

#include "bench/conversation.h"

namespace wg::bench {
namespace {
constexpr Duration connect_timeout = std::chrono::seconds(10), silence_timeout = std::chrono::seconds(600);
constexpr std::size_t read_block = 16 * 1024;

std::string head_of(const Target& target, std::size_t body_bytes, const std::string& session_key,
                    std::string_view headers) {
  std::string head =
      "POST " + path_of(target) + " HTTP/1.1\r\nHost: " + target.host + ":" + std::to_string(target.port) +
      "\r\nUser-Agent: warmgate-bench\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n";
  head += session_header_of(target) + ": " + session_key + "\r\n";
  if (!target.credential.empty()) head += "Authorization: Bearer " + target.credential + "\r\n";
  if (target.api == dialect::Api::messages) head += "anthropic-version: 2023-06-01\r\n";
  head += headers;
  return head + "Content-Length: " + std::to_string(body_bytes) + "\r\n\r\n";
}
}  // namespace

Caller::Caller(net::Loop& loop, const Target& target)
    : loop_(loop), target_(target), parser_(target.api), buffer_(read_block) {}

net::Task<Answer> Caller::ask(const std::string& body, const std::string& session_key, std::string_view headers) {
  const std::string head = head_of(target_, body.size(), session_key, headers);
  const bool kept = stream_ && stream_.idle_and_open();
  if (!kept) hang_up();
  parser_.begin();
  co_await exchange(head, body);
  // A kept connection may have been closed by the server at this very moment: that says nothing about it.
  const bool once_more = kept && !parser_.started() && !parser_.answer().failure.empty() && !cancelled_;
  if (once_more) {
    hang_up();
    parser_.begin();
    co_await exchange(head, body);
  }
  Answer answer = std::move(parser_.answer());
  if (!parser_.connection_lives()) hang_up();
  if (cancelled_ && !answer.failure.empty()) answer.cancelled = true;
  co_return answer;
}

net::Task<bool> Caller::connect() {
  net::Dial dial(loop_, target_.host, target_.port, connect_timeout);
  dialling_ = &dial;
  auto dialled = co_await dial;
  dialling_ = nullptr;
  if (!dialled) {
    broken(dialled.error(), "connecting");
    co_return false;
  }
  stream_ = std::move(*dialled);
  co_return true;
}

net::Task<void> Caller::exchange(const std::string& head, const std::string& body) {
  if (!stream_) {
    const bool connected = co_await connect();
    if (!connected) co_return;
  }
  const std::array<std::string_view, 2> pieces{head, body};
  const auto sent = co_await stream_.write(pieces, silence_timeout);
  if (!sent) co_return broken(sent.error(), "sending");
  for (;;) {
    if (cancelled_) co_return broken(net::IoError::cancelled, "reading the answer");
    const auto size = co_await stream_.read_some(buffer_, silence_timeout);
    const TimePoint now = loop_.now();
    if (!size) co_return broken(size.error(), "reading the answer");
    if (*size == 0) co_return parser_.closed(now);
    const bool over = parser_.feed(std::string_view(buffer_.data(), *size), now);
    if (over) co_return;
  }
}

void Caller::broken(net::IoError error, const char* while_doing) {
  const std::string kind(net::name_of(error));
  parser_.broken(kind, kind + " while " + while_doing, loop_.now());
}

void Caller::cancel() {
  cancelled_ = true;
  if (dialling_) dialling_->cancel();
  if (stream_) stream_.cancel();
}

}  // namespace wg::bench
