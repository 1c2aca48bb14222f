#include "http/header_rules.h"

#include <gtest/gtest.h>

#include "http/test_messages.h"

namespace wg::http {

namespace {

// The head that an engine gets for this client head (start line and Host left out).
std::string upstream(const std::string& fields, UpstreamHead to = {}) {
  const std::string bytes = "POST /v1/messages?beta=true HTTP/1.1\r\nHost: gateway\r\n" + fields + "\r\n";
  RequestParser parser({});
  std::vector<std::string_view> body;
  const auto progress = parser.feed(bytes, body);
  EXPECT_TRUE(progress && progress->head_complete) << fields;
  to.host = "127.0.0.1:8000";
  std::string out;
  write_request_head(out, parser.head(), to);
  const std::string start = "POST /v1/messages?beta=true HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n";
  EXPECT_EQ(out.substr(0, start.size()), start);
  return out.substr(std::min(out.size(), start.size()));
}

// The fields that a client gets for this answer of an engine.
std::string downstream(const std::string& engine_fields, const ClientHead& to, int status = 200) {
  const std::string bytes = "HTTP/1.1 " + std::to_string(status) + " Fine\r\n" + engine_fields + "\r\n";
  ResponseParser parser(answer_limits);
  std::vector<std::string_view> body;
  const auto progress = parser.feed(bytes, body);
  EXPECT_TRUE(progress && progress->head_complete) << engine_fields;
  std::string out;
  write_response_head(out, parser.head(), to);
  const std::string start = "HTTP/1.1 " + std::to_string(status) + " Fine\r\n";
  EXPECT_EQ(out.substr(0, start.size()), start);
  return out.substr(std::min(out.size(), start.size()));
}

struct Row {
  std::string why, in, out;
};

}  // namespace

TEST(RequestHeaders, WhatCrosses) {
  const std::vector<Row> table = {
      {"all else, byte for byte and in its order",
       "User-Agent: claude-cli/2.1\r\nx-stainless-retry-count: 0\r\nACCEPT:  a,  b\r\nX-Empty:\r\nAccept: c\r\n",
       "User-Agent: claude-cli/2.1\r\nx-stainless-retry-count: 0\r\nACCEPT: a,  b\r\nX-Empty: \r\nAccept: c\r\n"},
      {"credentials, where the engine has none of its own", "Authorization: Bearer a\r\nx-api-key: b\r\n",
       "Authorization: Bearer a\r\nx-api-key: b\r\n"},
      {"session ids and request ids",
       "X-Session-ID: s\r\nx-claude-code-session-id: c\r\nsession_id: u\r\nx-smg-routing-key: k\r\nX-Request-Id: r\r\n",
       "X-Session-ID: s\r\nx-claude-code-session-id: c\r\nsession_id: u\r\nx-smg-routing-key: k\r\nX-Request-Id: "
       "r\r\n"},
      {"content coding and type", "Content-Type: application/json\r\nContent-Encoding: br\r\n",
       "Content-Type: application/json\r\nContent-Encoding: br\r\n"},
      {"not: what is framing once _ is read as -",
       "Content_Length: 5\r\nTRANSFER_ENCODING: chunked\r\nContent_Type: x\r\n", "Content_Type: x\r\n"},
      {"not: Connection, Keep-Alive", "Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n", ""},
      {"not: what Connection names", "Connection: X-Hop, close,x-other\r\nx-hop: 1\r\nX-Other: 2\r\nX-Third: 3\r\n",
       "X-Third: 3\r\n"},
      {"not: what a second Connection names", "Connection: a\r\nA: 1\r\nConnection: b\r\nB: 2\r\n", ""},
      {"not: TE, Trailer, Upgrade, HTTP2-Settings",
       "TE: trailers\r\nTrailer: X\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\nConnection: Upgrade, HTTP2-Settings\r\n",
       ""},
      {"not: Proxy of any kind", "Proxy-Connection: close\r\nProxy-Authorization: Basic x\r\nProxy: http://evil\r\n",
       ""},
      {"not: lengths and codings of the client's framing", "Content-Length: 5\r\n", ""},
      {"not: Expect", "Expect: 100-continue\r\nContent-Length: 5\r\n", ""},
      {"not: what steers an engine",
       "X-Data-Parallel-Rank: 3\r\nx-vllm-priority: -9\r\nX-SMG-Target-Worker: w\r\nx-smg-priority: system\r\n"
       "x-gateway-destination-endpoint: 10.0.0.1:1\r\nx-prefiller-host-port: 10.0.0.1:1\r\n",
       ""},
  };
  for (const Row& row : table) EXPECT_EQ(upstream(row.in), row.out + "\r\n") << row.why;
  EXPECT_EQ(upstream("Transfer-Encoding: chunked\r\n"), "\r\n") << "the body is whole when it is sent";
}

TEST(RequestHeaders, WhatIsAdded) {
  UpstreamHead to;
  to.rank = 2;
  to.has_body = true;
  to.body_bytes = 1234;
  to.request_id = "wg-1";
  to.credential = "sk-engine";
  EXPECT_EQ(upstream("authorization: Bearer client\r\nX-Api-Key: client\r\nA: b\r\nContent-Length: 9\r\n"
                     "x-data-parallel-rank: 7\r\nX-Warmgate-Release: 1\r\n",
                     to),
            "A: b\r\nAuthorization: Bearer sk-engine\r\nX-data-parallel-rank: 2\r\nX-Request-Id: wg-1\r\n"
            "Content-Length: 1234\r\n\r\n");
  to = {};
  to.request_id = "wg-1";
  EXPECT_EQ(upstream("x-request-id: mine\r\n", to), "x-request-id: mine\r\n\r\n");
  EXPECT_EQ(upstream("Connection: x-request-id\r\nx-request-id: mine\r\n", to), "X-Request-Id: wg-1\r\n\r\n");
  to = {};
  to.has_body = true;
  EXPECT_EQ(upstream("", to), "Content-Length: 0\r\n\r\n");
}

TEST(RequestHeaders, BasePathStandsBeforeTheTarget) {
  const auto start = [](std::string_view method, std::string_view target, std::string_view base_path) {
    RequestHead client;
    client.method = method;
    client.target = target;
    UpstreamHead to;
    to.base_path = base_path;
    std::string out;
    write_request_head(out, client, to);
    return out.substr(0, out.find("\r\n"));
  };
  EXPECT_EQ(start("POST", "/v1/messages?a=b", "/engine"), "POST /engine/v1/messages?a=b HTTP/1.1");
  EXPECT_EQ(start("POST", "/v1/messages", "/a b\r\nX: 1"), "POST /abX:1/v1/messages HTTP/1.1");
  EXPECT_EQ(start("OPTIONS", "*", "/engine"), "OPTIONS * HTTP/1.1");
}

TEST(RequestHeaders, NoLineBreakGetsIn) {
  UpstreamHead to;
  to.credential = "a\r\nX-Evil: 1";
  to.request_id =
      "b\nX-Evil: 2\0"
      "c";
  const std::string head = upstream("", to);
  EXPECT_EQ(head, "Authorization: Bearer a  X-Evil: 1\r\nX-Request-Id: b X-Evil: 2\r\n\r\n");
}

TEST(RequestHeaders, WhatIsWrittenCanBeReadAgain) {
  UpstreamHead to;
  to.rank = 1;
  to.has_body = true;
  to.body_bytes = 3;
  const std::string head =
      "POST / HTTP/1.1\r\nHost: x\r\n" + upstream("Connection: x\r\nX: y\r\nTransfer-Encoding: chunked\r\n", to);
  const testing::Record record = testing::read_requests(head + "abc");
  ASSERT_EQ(record.error, 0) << record.what;
  EXPECT_EQ(record.messages.at(0).body, "abc");
}

TEST(ResponseHeaders, WhatCrosses) {
  ClientHead to;
  to.chunked = true;
  const std::string framing = "Transfer-Encoding: chunked\r\n\r\n";
  const std::vector<Row> table = {
      {"all else",
       "Server: uvicorn\r\ndate: now\r\nContent-Type: text/event-stream\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n",
       "Server: uvicorn\r\ndate: now\r\nContent-Type: text/event-stream\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"},
      {"errors' hints", "Retry-After: 3\r\nx-should-retry: true\r\n", "Retry-After: 3\r\nx-should-retry: true\r\n"},
      {"not: the engine's framing", "Content-Length: 5\r\n", ""},
      {"not: hop by hop",
       "Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nTrailer: x\r\nUpgrade: h2\r\n"
       "Proxy-Authenticate: Basic\r\nTE: x\r\n",
       ""},
      {"not: fields that are ours", "X-Warmgate-Replica: fake\r\nx-warmgate-anything: fake\r\nx-warmgat: ok\r\n",
       "x-warmgat: ok\r\n"},
  };
  for (const Row& row : table) EXPECT_EQ(downstream(row.in, to), row.out + framing) << row.why;
}

TEST(ResponseHeaders, AddedReplaceTheEngines) {
  const std::vector<Header> added = {{"x-warmgate-route", "sticky"},
                                     {"x-request-id", "wg-1"},
                                     {"X-Evil", "a\r\nSet-Cookie: b"},
                                     {"bad name", "x"},
                                     {"", "x"},
                                     {"Content-Length", "9"},
                                     {"transfer-encoding", "gzip"},
                                     {"Connection", "x"}};
  ClientHead to;
  to.content_length = 5;
  to.added = added;
  EXPECT_EQ(downstream("X-Request-ID: engine\r\nA: b\r\nContent-Length: 5\r\n", to),
            "A: b\r\nx-warmgate-route: sticky\r\nx-request-id: wg-1\r\nX-Evil: a  Set-Cookie: b\r\n"
            "Content-Length: 5\r\n\r\n");
}

TEST(ResponseHeaders, FramingForTheClient) {
  struct Case {
    std::string why;
    int minor;
    bool keep_alive, chunked;
    std::optional<std::uint64_t> length;
    int status;
    std::string out;
  };
  const std::vector<Case> table = {
      {"length", 1, true, false, 5, 200, "Content-Length: 5\r\n"},
      {"length, closing", 1, false, false, 5, 200, "Content-Length: 5\r\nConnection: close\r\n"},
      {"chunks", 1, true, true, {}, 200, "Transfer-Encoding: chunked\r\n"},
      {"neither: ends with the connection", 1, true, false, {}, 200, "Connection: close\r\n"},
      {"HTTP/1.0 gets no chunks", 0, true, true, {}, 200, "Connection: close\r\n"},
      {"HTTP/1.0 with a length may stay", 0, true, false, 5, 200, "Content-Length: 5\r\nConnection: keep-alive\r\n"},
      {"HTTP/1.0 that closes", 0, false, false, 5, 200, "Content-Length: 5\r\nConnection: close\r\n"},
      {"HTTP/1.0, chunked asked for but the length is known", 0, true, true, 5, 200,
       "Content-Length: 5\r\nConnection: keep-alive\r\n"},
      {"204 has neither", 1, true, true, 5, 204, ""},
      {"304 never has chunks", 1, true, true, {}, 304, ""},
      {"304 may tell a length", 1, true, false, 5, 304, "Content-Length: 5\r\n"},
      {"204, closing", 1, false, false, {}, 204, "Connection: close\r\n"},
  };
  for (const Case& c : table) {
    ClientHead to;
    to.minor = c.minor;
    to.keep_alive = c.keep_alive;
    to.chunked = c.chunked;
    to.content_length = c.length;
    EXPECT_EQ(downstream("", to, c.status), c.out + "\r\n") << c.why;
  }
}

TEST(ResponseHeaders, ReasonIsTheEnginesOrOurs) {
  ResponseHead engine;
  engine.status = 429;
  std::string out;
  write_response_head(out, engine, {});
  EXPECT_EQ(out, "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\n\r\n");
}

TEST(Answer, WholeAnswersOfOurOwn) {
  const std::vector<Header> added = {{"Retry-After", "3"}, {"x-request-id", "r\n1"}, {"Content-Length", "1"}};
  std::string out;
  write_answer(out, 503, "application/json", "{}", true, added);
  EXPECT_EQ(
      out,
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 3\r\nx-request-id: r 1\r\n"
      "Content-Length: 2\r\nConnection: keep-alive\r\n\r\n{}");
  out.clear();
  write_answer(out, 200, "text/plain", "ok\n", false, {}, true);
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nConnection: close\r\n\r\n")
      << "for HEAD: all but the body";
  out.clear();
  write_answer(out, 204, "", "", true, {});
  EXPECT_EQ(out, "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n");
  out.clear();
  write_answer(out, 404, "", "", true, {});
  EXPECT_EQ(out, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
}

TEST(Answer, EveryStatusThatWeGiveHasAPhrase) {
  for (const int status : {200, 400, 401, 404, 405, 408, 413, 414, 426, 429, 431, 500, 501, 502, 503, 504, 505})
    EXPECT_NE(reason_phrase(status), "Unknown") << status;
  EXPECT_EQ(reason_phrase(299), "Unknown");
}

TEST(Answer, CanBeReadAgain) {
  std::string out;
  write_answer(out, 429, "application/json", "{\"error\":1}", true, {});
  const testing::Record record = testing::read_responses(out);
  ASSERT_EQ(record.error, 0) << record.what;
  EXPECT_EQ(record.messages.at(0).start, "429 Too Many Requests");
  EXPECT_EQ(record.messages.at(0).body, "{\"error\":1}");
  EXPECT_TRUE(record.messages.at(0).complete);
}

}  // namespace wg::http
