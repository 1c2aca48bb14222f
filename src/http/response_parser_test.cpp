#include <gtest/gtest.h>

#include "http/test_messages.h"

namespace wg::http {

namespace {

using namespace std::string_literals;
using testing::read_responses;
using testing::Record;

struct Taken {
  std::string why, input;
  std::string start, framing, body;
  bool to_head = false;
  bool finished = true;  // complete without the peer's close
};

const std::string ok = "HTTP/1.1 200 OK\r\n";

const std::vector<Taken> taken = {
    {"length", ok + "Content-Length: 3\r\n\r\nabc", "200 OK", "3 keep", "abc"},
    {"length zero", ok + "Content-Length: 0\r\n\r\n", "200 OK", "0 keep", ""},
    {"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\nT: v\r\n\r\n", "200 OK",
     "chunked keep", "abcd"},
    {"until close", ok + "A: b\r\n\r\nabc", "200 OK", "none until_close", "abc", false, false},
    {"until close, empty so far", ok + "\r\n", "200 OK", "none until_close", "", false, false},
    {"close", ok + "Connection: close\r\nContent-Length: 1\r\n\r\na", "200 OK", "1", "a"},
    {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "200 OK", "1", "a"},
    {"HTTP/1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", "200 OK",
     "1 keep", "a"},
    {"204", "HTTP/1.1 204 No Content\r\n\r\n", "204 No Content", "none keep", ""},
    {"204 with a length: whether a body comes is unknown", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n",
     "204 No Content", "none", ""},
    {"204 with chunks: the same", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "204 No Content",
     "none", ""},
    {"304 tells the length that is not sent", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n",
     "304 Not Modified", "3 keep", ""},
    {"answer to HEAD with a length", ok + "Content-Length: 3\r\n\r\n", "200 OK", "3 keep", "", true},
    {"answer to HEAD with chunks", ok + "Transfer-Encoding: chunked\r\n\r\n", "200 OK", "chunked keep", "", true},
    {"answer to HEAD without either", ok + "A: b\r\n\r\n", "200 OK", "none keep", "", true},
    {"100 before", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na", "200 OK", "1 keep", "a"},
    {"several 1xx before",
     "HTTP/1.1 102 Processing\r\nA: b\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok +
         "Content-Length: 1\r\n\r\na",
     "200 OK", "1 keep", "a"},
    {"no reason", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\na", "200 ", "1 keep", "a"},
    {"empty reason", "HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\na", "200 ", "1 keep", "a"},
    {"reason of many words", "HTTP/1.1 503 Not now, later\r\nContent-Length: 0\r\n\r\n", "503 Not now, later", "0 keep",
     ""},
    {"upgrade offered, not done", ok + "Connection: Upgrade\r\nUpgrade: h2\r\nContent-Length: 1\r\n\r\na", "200 OK",
     "1 keep", "a"},
};

struct Refused {
  std::string why, input;
};

const std::vector<Refused> refused = {
    {"folded header", ok + "A: b\r\n c\r\nContent-Length: 1\r\n\r\na"},
    {"folded before its value", ok + "A:\r\n c\r\n\r\n"},
    {"length and chunks", ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {"chunks and length", ok + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n"},
    {"two lengths", ok + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na"},
    {"length with a sign", ok + "Content-Length: +1\r\n\r\na"},
    {"coding not spoken", ok + "Transfer-Encoding: gzip\r\n\r\n"},
    {"coding not spoken before chunked", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
    {"HTTP/1.0 with chunks", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {"space before the colon", ok + "A : b\r\n\r\n"},
    {"empty name", ok + ": b\r\n\r\n"},
    {"NUL in a value", ok + "A: b\0\r\n\r\n"s},
    {"bare LF ends the status line", "HTTP/1.1 200 OK\nContent-Length: 1\r\n\r\na"},
    {"bare LF ends a header", ok + "A: b\nContent-Length: 1\r\n\r\na"},
    {"control byte in the reason", "HTTP/1.1 200 O\x01K\r\n\r\n"},
    {"two spaces before the status", "HTTP/1.1  200 OK\r\n\r\n"},
    {"status of two digits", "HTTP/1.1 20 OK\r\n\r\n"},
    {"status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"},
    {"status below 100", "HTTP/1.1 099 OK\r\n\r\n"},
    {"status above 599", "HTTP/1.1 600 OK\r\n\r\n"},
    {"HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n"},
    {"HTTP/0.9", "HTTP/0.9 200 OK\r\n\r\n"},
    {"another protocol", "ICY 200 OK\r\n\r\n"},
    {"blank line before", "\r\n" + ok + "\r\n"},
    {"101 that nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"},
    {"endless 1xx",
     [] {
       std::string many;
       for (int i = 0; i < 50; ++i) many += "HTTP/1.1 100 Continue\r\n\r\n";
       return many;
     }()},
    {"chunk data without its CRLF", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\naXX0\r\n\r\n"},
    {"chunk size is none", ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n"},
};

}  // namespace

TEST(ResponseParser, TakesAndGivesTheSameHoweverReadsFall) {
  for (const Taken& row : taken) {
    SCOPED_TRACE(row.why);
    const Record whole = read_responses(row.input, {}, row.to_head);
    ASSERT_EQ(whole.error, 0) << whole.what;
    ASSERT_EQ(whole.messages.size(), 1u);
    EXPECT_EQ(whole.messages[0].start, row.start);
    EXPECT_EQ(whole.messages[0].framing, row.framing);
    EXPECT_EQ(whole.messages[0].body, row.body);
    EXPECT_EQ(whole.messages[0].complete, row.finished);
    EXPECT_EQ(whole.consumed, row.input.size());
    testing::for_each_cut(row.input, [&](const std::vector<std::size_t>& cuts) {
      EXPECT_EQ(read_responses(row.input, cuts, row.to_head), whole) << "cut at " << cuts[0];
    });
  }
}

TEST(ResponseParser, RefusesHoweverReadsFall) {
  for (const Refused& row : refused) {
    SCOPED_TRACE(row.why);
    EXPECT_EQ(read_responses(row.input).error, 502) << "taken";
    testing::for_each_cut(row.input, [&](const std::vector<std::size_t>& cuts) {
      EXPECT_EQ(read_responses(row.input, cuts).error, 502) << "cut at " << cuts[0];
    });
  }
}

TEST(ResponseParser, ErrorsAreTheEnginesFault) {
  ResponseParser parser(answer_limits);
  std::vector<std::string_view> body;
  const auto result = parser.feed("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", body);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, Fault::upstream);
  EXPECT_EQ(result.error().status, 502);
  EXPECT_FALSE(parser.finish());
}

TEST(ResponseParser, FinishTellsAnEndFromACut) {
  const auto finish = [](const std::string& bytes, bool to_head = false) {
    ResponseParser parser(answer_limits);
    parser.reset(to_head);
    std::vector<std::string_view> body;
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto progress = parser.feed(rest, body);
      if (!progress || progress->consumed == 0) break;
      rest.remove_prefix(progress->consumed);
    }
    return parser.finish();
  };
  EXPECT_FALSE(finish("")) << "closed without a byte";
  EXPECT_FALSE(finish("HTTP/1.1 200 OK\r\nA: b\r\n"));
  EXPECT_FALSE(finish("HTTP/1.1 100 Continue\r\n\r\n"));
  EXPECT_TRUE(finish(ok + "\r\n"));
  EXPECT_TRUE(finish(ok + "\r\nabc"));
  EXPECT_FALSE(finish(ok + "Content-Length: 3\r\n\r\nab"));
  EXPECT_TRUE(finish(ok + "Content-Length: 3\r\n\r\nabc"));
  EXPECT_TRUE(finish(ok + "Content-Length: 3\r\n\r\n", true));
  EXPECT_FALSE(finish(ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"));
  EXPECT_FALSE(finish(ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"));
  EXPECT_TRUE(finish(ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"));
}

TEST(ResponseParser, StartedAlsoAfterAnInterimAnswer) {
  ResponseParser parser(answer_limits);
  std::vector<std::string_view> body;
  EXPECT_FALSE(parser.started());
  ASSERT_TRUE(parser.feed("HTTP/1.1 100 Continue\r\n\r\n", body));
  EXPECT_TRUE(parser.started());
  parser.reset(false);
  EXPECT_FALSE(parser.started());
}

TEST(ResponseParser, StopsBehindTheMessage) {
  const std::string first = ok + "Content-Length: 1\r\n\r\n";
  ResponseParser parser(answer_limits);
  std::vector<std::string_view> body;
  const std::string all = first + "aHTTP/1.1 200";
  EXPECT_EQ(parser.feed(all, body)->consumed, first.size());
  const auto rest = parser.feed(std::string_view(all).substr(first.size()), body);
  EXPECT_EQ(rest->consumed, 1u);
  EXPECT_TRUE(rest->complete);
  EXPECT_EQ(parser.feed("HTTP", body)->consumed, 0u) << "bytes that no request asked for are not taken";
}

TEST(ResponseParser, Limits) {
  const std::string big = ok + "A: " + std::string(60'000, 'a') + "\r\nContent-Length: 0\r\n\r\n";
  EXPECT_EQ(read_responses(big).error, 0) << "answers have more room than requests";
  EXPECT_EQ(read_responses(big, {}, false, Limits{}).error, 502);
  EXPECT_EQ(read_responses("HTTP/1.1 200 " + std::string(200'000, 'a')).error, 502);
  EXPECT_EQ(read_responses(ok + "Content-Length: 1000000000000\r\n\r\n").error, 0) << "bodies of answers have no limit";
}

TEST(ChunkBegin, WritesHexadecimalSizes) {
  char buffer[24];
  EXPECT_EQ(chunk_begin(0, buffer), "0\r\n");
  EXPECT_EQ(chunk_begin(10, buffer), "a\r\n");
  EXPECT_EQ(chunk_begin(0x1234'5678, buffer), "12345678\r\n");
  EXPECT_EQ(chunk_begin(~std::size_t{0}, buffer), "ffffffffffffffff\r\n");
}

}  // namespace wg::http
