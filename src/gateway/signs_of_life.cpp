#include "dialect/error_body.h"
#include "gateway/stages.h"

namespace wg::gateway {

SignsOfLife::SignsOfLife(Exchange& x) : x_(x), timer_(x.context.loop, [this] { fire(); }) {
  const bool is_chat = x.rule.api != dialect::Api::other && x.rule.api != dialect::Api::count_tokens;
  if (!x.facts.stream || !is_chat) return;
  x.signs = this;
  timer_.set(x.shared.config.wait.commit_after);
}

void SignsOfLife::postpone(bool between_events) {
  if (between_events) timer_.set(x_.shared.config.wait.ping_every);
}

void SignsOfLife::fire() {
  std::string out;
  if (!x_.committed) out = stream_head_of_our_own(x_);
  const std::string_view ping = dialect::ping_event(x_.rule.api);
  char chunk[24];
  if (x_.chunked)
    out.append(http::chunk_begin(ping.size(), chunk)).append(ping).append(http::chunk_end);
  else
    out.append(ping);
  x_.bytes_out += out.size();
  // A client that does not read gets no more pings than its socket holds; that it has left is the watch's business.
  x_.connection.stream.write_now(out);
  timer_.set(x_.shared.config.wait.ping_every);
}

}  // namespace wg::gateway
