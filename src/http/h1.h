// HTTP/1 messages, sans I/O: bytes in, a head and body spans out. llhttp does the grammar; what two parsers could read
// differently is refused on top of it (docs/http-strictness.md). One parser a connection direction; no threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/header.h"

namespace wg::http {

struct Limits {
  std::size_t head_bytes = 32 * 1024;
  std::size_t head_count = 100;
  std::size_t target_bytes = 8 * 1024;
  std::uint64_t body_bytes = 32ull << 20;  // of a request; answers have none
};
// For answers: an engine is trusted further than a client.
inline constexpr Limits answer_limits{.head_bytes = 128 * 1024, .head_count = 256};

// How much of a message is known after a feed().
struct Progress {
  std::size_t consumed = 0;  // bytes of the input that belong to this message
  bool head_complete = false;
  bool complete = false;  // the message has ended; what follows is another's
};

struct RequestHead {
  std::string_view method;
  std::string_view target;      // begins with `/` (absolute form is reduced to it), or is `*` of OPTIONS
  int minor = 1;                // HTTP/1.minor
  std::vector<Header> headers;  // in wire order; views into the parser, until reset()
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = true;
  bool expects_continue = false;  // Expect: 100-continue
  bool upgrade = false;           // asks for another protocol

  std::string_view path() const { return target.substr(0, target.find('?')); }
  std::string_view query() const;  // with its '?', or empty
  bool has_body() const { return chunked || content_length.value_or(0) > 0; }
};

struct ResponseHead {
  int status = 0;
  int minor = 1;
  std::string_view reason;
  std::vector<Header> headers;
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = true;
  bool until_close = false;  // neither length nor chunks: the body ends with the connection
};

// Both parsers: feed() stops behind the head (head_complete, once), then behind the message; a message without a body
// is complete together with its head. Decoded body bytes come as spans into `in`, appended to `body`; trailers are
// dropped. After an error the parser is dead, also after reset(): close the connection.
class RequestParser {
 public:
  explicit RequestParser(const Limits& limits);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;

  // Error status: 400 (what and where), 413 body, 414 target, 431 head, 501 transfer coding, 505 version.
  Result<Progress> feed(std::string_view in, std::vector<std::string_view>& body);
  const RequestHead& head() const;
  bool started() const;  // some byte of the current message was seen; a CRLF before it, which is skipped, is none
  void reset();          // ready for the next message of the connection

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class ResponseParser {
 public:
  explicit ResponseParser(const Limits& limits);
  ~ResponseParser();
  ResponseParser(ResponseParser&&) noexcept;

  // 1xx answers are swallowed. All errors are the engine's fault (502).
  Result<Progress> feed(std::string_view in, std::vector<std::string_view>& body);
  // The peer closed. True: the message was complete, or is now (until_close). False: it was cut.
  bool finish();
  const ResponseHead& head() const;
  bool started() const;
  void reset(bool answer_to_head);  // answer_to_head: the request was HEAD, so no body follows

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Frames `size` bytes as the next HTTP chunk: write this, the bytes, then chunk_end. Room for 18 characters.
std::string_view chunk_begin(std::size_t size, char (&buffer)[24]);
inline constexpr std::string_view chunk_end = "\r\n";
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace wg::http
