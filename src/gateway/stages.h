// The stages of an exchange, one file each, in the order in which a request passes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/exchange.h"

namespace wg::gateway {

// ---- read.cpp ----
enum class HeadRead { complete, closed, failed };
// failed: `error` says why and with which status. closed: the client left or stayed silent between requests.
net::Task<HeadRead> read_head(Connection& connection, Error& error);
// The whole body into connection.body, within limits.body.
net::Task<Result<void>> read_body(Connection& connection);
// Reads on and throws away, for a bounded time, so that an answer sent before the body was read is not lost to a reset.
net::Task<void> discard_rest(Connection& connection);

// ---- local.cpp ----
net::Task<After> answer_locally(Exchange& x);
// An error in the client's dialect, as a status or, if the response has begun, as an event.
net::Task<After> refuse(Exchange& x, const Error& error, std::uint32_t retry_after_s);
// Bytes that were no request: answered in OpenAI's shape, then the connection ends.
net::Task<After> refuse_unparsed(Connection& connection, const Error& error);

// ---- inspect.cpp ----
// From the body: model, pool, session, edits. Error: 400 or 404 in words.
Result<void> inspect(Exchange& x);
fleet::RequestArrived arrival(const Exchange& x);
SessionKey response_key(std::string_view response_id);

// ---- forward.cpp ----
// One attempt to get an answer out of the replica in x.dispatch.
struct Attempt {
  std::optional<fleet::Failure> failure;
  bool answered = false;  // x.upstream holds an answer that can be passed on: a good one, or an engine's refusal
  std::string why;
};
net::Task<Attempt> forward(Exchange& x);

// ---- upstream.cpp ----
net::Task<net::IoResult<void>> read_response_head(Exchange& x);
// The next decoded body bytes. None and x.upstream->complete: the end. They hold until the next call.
net::Task<net::IoResult<void>> read_response_body(Exchange& x, std::vector<std::string_view>& spans, Duration timeout);
// Puts a clean x.upstream in place for an attempt; closes it again, which is what makes an engine stop.
Upstream& open_upstream(Exchange& x, EngineIndex engine);
void close_upstream(Exchange& x);
// Its connection goes back to the idle pool if the exchange on it was complete and sound; else it is closed.
void release_upstream(Exchange& x);

// ---- relay.cpp, relay_stream.cpp ----
net::Task<fleet::Outcome> relay(Exchange& x);
net::Task<fleet::Outcome> relay_stream(Exchange& x);
// Ends a response that has begun with the dialect's error event, and the connection with it: never a clean end.
net::Task<void> end_with_error_event(Exchange& x, int status, std::string_view message, bool mid_event);
// Ends the connection in the middle of an answer so that the client can tell.
void break_off(Exchange& x);
// The head for the client, from the engine's (or, before there is one, our own for a stream).
std::string response_head(Exchange& x, std::optional<std::uint64_t> content_length);
std::string stream_head_of_our_own(Exchange& x);
net::Task<net::IoResult<void>> send_to_client(Exchange& x, const std::vector<std::string_view>& pieces);

// ---- signs_of_life.cpp ----
// Keeps a waiting stream's client company: after wait.commit_after without a byte the response begins, then a ping goes
// out for every wait.ping_every of silence.
class SignsOfLife {
 public:
  explicit SignsOfLife(Exchange& x);
  ~SignsOfLife() { x_.signs = nullptr; }
  void hold() { timer_.cancel(); }  // a write is under way, or the response is over
  void postpone(bool between_events);

 private:
  void fire();
  Exchange& x_;
  net::Timer timer_;
};

// ---- account.cpp ----
// The one place where a request's end is told: fleet, metrics, log. Once per exchange.
void account(Exchange& x, fleet::Outcome outcome);

// ---- exchange.cpp ----
net::Task<After> exchange(Connection& connection);

}  // namespace wg::gateway
