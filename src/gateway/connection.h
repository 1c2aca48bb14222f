// One client connection: its socket, its parser and the bytes not yet looked at. Lives in its coroutine, on its loop.
#pragma once

#include <memory>

#include "core/bytes.h"
#include "gateway/context.h"
#include "http/h1.h"
#include "net/stream.h"
#include "net/task.h"

namespace wg::gateway {

class Connection {
 public:
  Connection(LoopContext& context, net::Stream stream);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Between two requests, with nothing of the next one read: may be closed by drain() at any time.
  bool waiting_for_request = false;
  void close_if_waiting();

  // The body's buffer has grown or was given back: settles what it is charged. False: there is no room for it, and it
  // was given back.
  bool settle_body();

  LoopContext& context;
  net::Stream stream;
  http::RequestParser parser;
  Bytes input;  // read and not yet parsed
  Bytes body;   // of the request under way

 private:
  std::uint64_t charged_ = 0;  // to Shared::bodies
};

// An empty body, in memory that an earlier request on this loop has left if there is some.
void take_body_buffer(Connection& connection);

// Serves a connection until it ends; counts it against limits.connections.
net::Task<void> serve(LoopContext& context, net::Stream stream);

// Stops taking requests on this loop's connections: those that wait for one are closed, the others after their answer.
void drain(LoopContext& context);

// Ends this loop's connections so that no client takes what it has got for a complete answer.
void cut_off(LoopContext& context);

}  // namespace wg::gateway
