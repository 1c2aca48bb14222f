// Which header fields cross the gateway, and how heads are written. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/header.h"
#include "http/h1.h"

namespace wg::http {

struct UpstreamHead {
  std::string_view host;              // Host for the engine
  std::string_view base_path;         // put before the client's target; empty: none
  std::string_view credential;        // the engine's own key: replaces the client's; empty: pass the client's
  std::optional<std::uint32_t> rank;  // X-data-parallel-rank
  std::uint64_t body_bytes = 0;
  bool has_body = false;        // writes Content-Length even for 0 bytes
  std::string_view request_id;  // x-request-id to send if the client had none
};

// In all heads: control bytes in values that come from here (not from a parser) become spaces, and added fields whose
// name is no token, or is about framing (Connection, Content-Length, Transfer-Encoding, Keep-Alive), are left out.

// The request head for an engine: hop-by-hop fields and those named by Connection out, framing rebuilt, clients'
// steering headers (X-data-parallel-rank, X-Vllm-Priority, ...) and Expect out, all else byte for byte in its order.
void write_request_head(std::string& out, const RequestHead& client, const UpstreamHead& upstream);

struct ClientHead {
  int minor = 1;  // the client's HTTP/1.minor
  bool keep_alive = true;
  bool chunked = false;  // else content_length, else until close
  std::optional<std::uint64_t> content_length;
  Headers added;  // x-warmgate-*, x-request-id, Server-Timing, ...: replace the engine's of that name
};

// The response head for a client: hop-by-hop out, framing rebuilt, engine's fields as they came.
void write_response_head(std::string& out, const ResponseHead& engine, const ClientHead& client);

// A whole answer of our own.
void write_answer(std::string& out, int status, std::string_view content_type, std::string_view body, bool keep_alive,
                  Headers added, bool head_only = false);

std::string_view reason_phrase(int status);

}  // namespace wg::http
