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

  LoopContext& context;
  net::Stream stream;
  http::RequestParser parser;
  Bytes input;  // read and not yet parsed
  Bytes body;   // of the request under way
};

// Serves a connection until it ends; counts it against limits.connections.
net::Task<void> serve(LoopContext& context, net::Stream stream);

// Stops taking requests on this loop's connections: those that wait for one are closed, the others after their answer.
void drain(LoopContext& context);

}  // namespace wg::gateway
