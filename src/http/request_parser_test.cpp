#include <gtest/gtest.h>

#include "http/test_messages.h"

namespace wg::http {

namespace {

using testing::read_requests;
using testing::Record;

const std::string chunked_post = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

struct Taken {
  std::string why, input;
  std::string start, framing, body;  // of the first message
  std::size_t messages = 1;
};

const std::vector<Taken> taken = {
    {"plain GET", "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v1/models", "none keep", ""},
    {"length", "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", "POST /a?b=c", "5 keep", "hello"},
    {"length zero", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "POST /", "0 keep", ""},
    {"length with spaces around", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:  5 \r\n\r\nhello", "POST /", "5 keep",
     "hello"},
    {"body of a GET", "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", "GET /", "2 keep", "ab"},
    {"chunks", chunked_post + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "POST /a", "chunked keep", "hello world"},
    {"no chunks", chunked_post + "0\r\n\r\n", "POST /a", "chunked keep", ""},
    {"hexadecimal sizes", chunked_post + "A\r\n0123456789\r\n00b\r\n0123456789a\r\n000\r\n\r\n", "POST /a",
     "chunked keep", "01234567890123456789a"},
    {"extensions are skipped", chunked_post + "5;a=b;c=\"d;e\"\r\nhello\r\n0;last\r\n\r\n", "POST /a", "chunked keep",
     "hello"},
    {"trailers are dropped", chunked_post + "5\r\nhello\r\n0\r\nA: b\r\nContent-Length: 9\r\n\r\n", "POST /a",
     "chunked keep", "hello"},
    {"name of the coding in capitals", "POST / HTTP/1.1\r\nHOST: x\r\nTRANSFER-ENCODING: Chunked\r\n\r\n0\r\n\r\n",
     "POST /", "chunked keep", ""},
    {"close", "GET / HTTP/1.1\r\nHost: x\r\nConnection: foo, Close\r\n\r\n", "GET /", "none", ""},
    {"close and keep-alive: close wins", "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, close\r\n\r\n", "GET /",
     "none", ""},
    {"close in a second field", "GET / HTTP/1.1\r\nHost: x\r\nConnection: x\r\nConnection: close\r\n\r\n", "GET /",
     "none", ""},
    {"HTTP/1.0 closes", "GET / HTTP/1.0\r\n\r\n", "GET /", "none", ""},
    {"HTTP/1.0 that asks to stay", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET /", "none keep", ""},
    {"HTTP/1.0 with a length", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "POST /", "3", "abc"},
    {"expect", "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\nabc", "POST /",
     "3 keep expect", "abc"},
    {"expect without a body", "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n", "POST /", "none keep", ""},
    {"expect of HTTP/1.0 is ignored", "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
     "POST /", "3", "abc"},
    {"websocket", "GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
     "GET /v1/responses", "none keep upgrade", ""},
    {"Upgrade that Connection does not list", "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n", "GET /",
     "none keep", ""},
    {"upgrade with a body",
     "POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n"
     "\r\nab",
     "POST /", "2 keep upgrade", "ab"},
    {"absolute form", "GET http://X:80/a?b HTTP/1.1\r\nHost: x:80\r\n\r\n", "GET /a?b", "none keep", ""},
    {"absolute form without a path", "GET HTTP://x HTTP/1.1\r\nHost: x\r\n\r\n", "GET /", "none keep", ""},
    {"absolute form with a query only", "GET https://x?b HTTP/1.1\r\nHost: x\r\n\r\n", "GET /?b", "none keep", ""},
    {"absolute form of HTTP/1.0", "GET http://x/a HTTP/1.0\r\n\r\n", "GET /a", "none", ""},
    {"asterisk", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS *", "none keep", ""},
    {"IPv6 host", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "GET /", "none keep", ""},
    {"empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET /", "none keep", ""},
    {"one CRLF before", "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET /", "none keep", ""},
    {"empty and spaced values", "GET / HTTP/1.1\r\nHost: x\r\nA:\r\nB: \t \r\nC:\t c d \t\r\n\r\n", "GET /",
     "none keep", ""},
    {"bytes over 127 in a value", "GET / HTTP/1.1\r\nHost: x\r\nA: \xc3\xa9\r\n\r\n", "GET /", "none keep", ""},
    {"pipelined",
     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: x\r\n\r\n" + chunked_post +
         "1\r\nz\r\n0\r\n\r\nGET /c HTTP/1.0\r\n\r\n",
     "POST /", "3 keep", "abc", 4},
    {"CRLF behind a body",
     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc\r\nGET / HTTP/1.1\r\nHost: x\r\n"
     "\r\n",
     "POST /", "3 keep", "abc", 2},
    {"websocket bytes behind an upgrade are another message",
     "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
     "GET /", "none keep upgrade", "", 2},
};

Progress feed(RequestParser& parser, std::string_view bytes) {
  std::vector<std::string_view> body;
  const auto progress = parser.feed(bytes, body);
  EXPECT_TRUE(progress) << progress.error().what;
  return progress.value_or(Progress{});
}

}  // namespace

TEST(RequestParser, TakesAndGivesTheSameHoweverReadsFall) {
  for (const Taken& row : taken) {
    SCOPED_TRACE(row.why);
    const Record whole = read_requests(row.input);
    ASSERT_EQ(whole.error, 0) << whole.what;
    ASSERT_EQ(whole.messages.size(), row.messages);
    EXPECT_EQ(whole.messages[0].start, row.start);
    EXPECT_EQ(whole.messages[0].framing, row.framing);
    EXPECT_EQ(whole.messages[0].body, row.body);
    for (const auto& message : whole.messages) EXPECT_TRUE(message.complete);
    EXPECT_EQ(whole.consumed, row.input.size());
    EXPECT_FALSE(whole.started);
    testing::for_each_cut(row.input, [&](const std::vector<std::size_t>& cuts) {
      EXPECT_EQ(read_requests(row.input, cuts), whole) << "cut at " << cuts[0];
    });
  }
}

TEST(RequestParser, EveryPrefixIsIncompleteButNoError) {
  for (const Taken& row : taken) {
    if (row.messages > 1) continue;
    for (std::size_t size = 0; size < row.input.size(); ++size) {
      const Record record = read_requests(std::string_view(row.input).substr(0, size));
      EXPECT_EQ(record.error, 0) << row.why << " " << size << " " << record.what;
      EXPECT_TRUE(record.messages.empty() || !record.messages[0].complete) << row.why << " " << size;
    }
  }
}

TEST(RequestParser, StopsBehindTheHeadThenBehindTheMessage) {
  RequestParser parser({});
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n";
  const std::string all = head + "abcGET";
  std::vector<std::string_view> body;
  auto first = parser.feed(all, body);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->consumed, head.size());
  EXPECT_TRUE(first->head_complete);
  EXPECT_FALSE(first->complete);
  EXPECT_TRUE(body.empty());
  auto second = parser.feed(std::string_view(all).substr(head.size()), body);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->consumed, 3u);
  EXPECT_FALSE(second->head_complete);
  EXPECT_TRUE(second->complete);
  ASSERT_EQ(body.size(), 1u);
  EXPECT_EQ(body[0].data(), all.data() + head.size()) << "a span into the input, not a copy";
  EXPECT_EQ(feed(parser, "GET").consumed, 0u) << "nothing more belongs to this message";
}

TEST(RequestParser, WithoutABodyHeadAndMessageEndTogether) {
  RequestParser parser({});
  const Progress progress = feed(parser, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(progress.head_complete);
  EXPECT_TRUE(progress.complete);
}

TEST(RequestParser, StartedTellsAnIdleConnectionFromASlowOne) {
  RequestParser parser({});
  EXPECT_FALSE(parser.started());
  feed(parser, "\r\n");
  EXPECT_FALSE(parser.started()) << "a stray CRLF is no request";
  feed(parser, "G");
  EXPECT_TRUE(parser.started());
  feed(parser, "ET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(parser.started());
  parser.reset();
  EXPECT_FALSE(parser.started());
}

TEST(RequestParser, HeadersKeepTheirOrderSpellingAndBytes) {
  RequestParser parser({});
  feed(parser, "GET /p?q=1&r HTTP/1.1\r\nHOST: x\r\nx-b:  two  words \r\nX-A:\r\nx-b: \xff\r\n\r\n");
  const RequestHead& head = parser.head();
  ASSERT_EQ(head.headers.size(), 4u);
  EXPECT_EQ(head.headers[0].name, "HOST");
  EXPECT_EQ(head.headers[1].value, "two  words");
  EXPECT_EQ(head.headers[2].value, "");
  EXPECT_NE(head.headers[2].value.data(), nullptr) << "there, though empty";
  EXPECT_EQ(head.headers[3].value, "\xff");
  EXPECT_EQ(head.path(), "/p");
  EXPECT_EQ(head.query(), "?q=1&r");
}

TEST(RequestParser, MovesWithItsMessage) {
  RequestParser parser({});
  feed(parser, "GET / HTTP/1.1\r\nHost: x\r\nA: ");
  RequestParser other(std::move(parser));
  EXPECT_TRUE(feed(other, "b\r\n\r\n").complete);
  EXPECT_EQ(find_header(other.head().headers, "a"), "b");
}

TEST(RequestParser, AHeadThatHasBlownUpTheBufferDoesNotStay) {
  RequestParser parser({});
  for (int round = 0; round < 3; ++round) {
    feed(parser, "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(20'000, 'a') + "\r\n\r\n");
    EXPECT_EQ(parser.head().headers[1].value.size(), 20'000u);
    parser.reset();
    feed(parser, "GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(parser.head().target, "/b");
    parser.reset();
  }
}

}  // namespace wg::http
