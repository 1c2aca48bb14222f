// A plain HTTP/1.1 client for our own questions to an engine (health, metrics, models): one connection, kept alive,
// one question at a time, answers bounded. Not for client traffic, which is streamed by gateway/. Owner: one loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/header.h"
#include "net/stream.h"
#include "net/task.h"

namespace wg::net {

struct Reply {
  int status = 0;
  std::string body;
};

class HttpClient {
 public:
  struct Target {
    std::string host;
    std::uint16_t port = 80;
    std::string base_path;   // put before each path
    std::string credential;  // sent as Bearer; empty: none
  };

  HttpClient(Loop& loop, Target target) : loop_(loop), target_(std::move(target)) {}

  // The views must outlive the await. Error: Fault::upstream with "refused" as its first word if nobody listens;
  // timeout; a body over `max_bytes`.
  Task<Result<Reply>> get(std::string_view path, Duration timeout, std::size_t max_bytes);
  Task<Result<Reply>> send(std::string_view method, std::string_view path, std::string_view body, Duration timeout,
                           std::size_t max_bytes);

 private:
  Task<Result<Reply>> exchange(const std::string& request, Duration timeout, std::size_t max_bytes, bool fresh);

  Loop& loop_;
  Target target_;
  Stream stream_;
};

}  // namespace wg::net
