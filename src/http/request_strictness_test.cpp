// The table of docs/http-strictness.md: what a request must not look like, each with the reason and the answer. Every
// input is also cut in two at every byte, and fed byte by byte: how reads fall must not decide what is refused.
#include <gtest/gtest.h>

#include "http/test_messages.h"

namespace wg::http {

namespace {

using namespace std::string_literals;
using testing::read_requests;

struct Refused {
  std::string why, input;
  int status;
};

std::string post(const std::string& fields, const std::string& body = "") {
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + body;
}

std::string chunked(const std::string& body) { return post("Transfer-Encoding: chunked\r\n", body); }

std::string get(const std::string& target, const std::string& fields = "Host: x\r\n") {
  return "GET " + target + " HTTP/1.1\r\n" + fields + "\r\n";
}

const std::vector<Refused> framing_table = {
    {"coding that only looks like chunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 400},
    {"chunked is not the last coding", post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"), 400},
    {"a coding that is not spoken", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
    {"same Content-Length twice", post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), 400},
    {"two Content-Lengths that differ", post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello!"), 400},
    {"a list of equal Content-Lengths", post("Content-Length: 5, 5\r\n", "hello"), 400},
    {"header folded over two lines", get("/", "Host: x\r\nA: b\r\n c\r\n"), 400},
    {"header folded with a tab", get("/", "Host: x\r\nA: b\r\n\tc\r\n"), 400},
    {"header folded before its value", get("/", "Host: x\r\nA:\r\n b\r\n"), 400},
    {"header folded into nothing", get("/", "Host: x\r\nA: \r\n \r\n"), 400},
    {"fold that hides Content-Length", post("A: b\r\n Content-Length: 5\r\n", "hello"), 400},
    {"no Host", get("/", ""), 400},
    {"two Hosts", get("/", "Host: x\r\nHost: y\r\n"), 400},
    {"two equal Hosts", get("/", "Host: x\r\nHost: x\r\n"), 400},
    {"HTTP/1.0 knows no Transfer-Encoding", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"HTTP/2.0 in a request line", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
    {"empty header name", get("/", "Host: x\r\n: y\r\n"), 400},
    {"chunk size line ended by LF only", chunked("5\nhello\r\n0\r\n\r\n"), 400},
    {"Content-Length then Transfer-Encoding", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
     400},
    {"Transfer-Encoding then Content-Length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
     400},
    {"Content-Length: 0 is still a second length", post("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"), 400},
    {"Content-Length with a sign", post("Content-Length: +5\r\n", "hello"), 400},
    {"negative Content-Length", post("Content-Length: -5\r\n", "hello"), 400},
    {"hexadecimal Content-Length", post("Content-Length: 0x5\r\n", "hello"), 400},
    {"empty Content-Length", post("Content-Length: \r\n"), 400},
    {"Content-Length with a space inside", post("Content-Length: 5 5\r\n"), 400},
    {"Content-Length with a fraction", post("Content-Length: 5.0\r\n", "hello"), 400},
    {"Content-Length beyond 64 bits", post("Content-Length: 18446744073709551621\r\n", "hello"), 400},
    {"two Transfer-Encodings", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
    {"second Transfer-Encoding says identity",
     post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"), 400},
    {"chunked twice in one field", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 400},
    {"empty Transfer-Encoding", post("Transfer-Encoding:\r\n"), 400},
    {"identity alone", post("Transfer-Encoding: identity\r\n"), 400},
    {"chunked with a parameter", post("Transfer-Encoding: chunked;q=1\r\n", "0\r\n\r\n"), 400},
    {"chunked with a comma behind", post("Transfer-Encoding: chunked,\r\n", "0\r\n\r\n"), 400},
    {"chunked in quotes", post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), 400},
    {"vertical tab before chunked", post("Transfer-Encoding: \x0b"s + "chunked\r\n", "0\r\n\r\n"), 400},
};

const std::vector<Refused> head_table = {
    {"space before the colon", get("/", "Host: x\r\nA : b\r\n"), 400},
    {"space before the colon of a length", post("Content-Length : 5\r\n", "hello"), 400},
    {"space before the colon of a coding", post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), 400},
    {"space within a name", get("/", "Host: x\r\nA B: c\r\n"), 400},
    {"space before the first header", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400},
    {"line without a colon", get("/", "Host: x\r\nnonsense\r\n"), 400},
    {"bare LF ends the request line", "GET / HTTP/1.1\nHost: x\r\n\r\n", 400},
    {"bare LF ends a header", get("/", "Host: x\nA: b\r\n"), 400},
    {"bare LF ends the head", "GET / HTTP/1.1\r\nHost: x\r\n\n", 400},
    {"bare CR within a value", get("/", "Host: x\r\nA: b\rc\r\n"), 400},
    {"bare CR within a Connection value", get("/", "Host: x\r\nConnection: close\rx\r\n"), 400},
    {"NUL in a value", get("/", "Host: x\r\nA: b\0c\r\n"s), 400},
    {"NUL in a name", get("/", "Host: x\r\nA\0: c\r\n"s), 400},
    {"escape byte in a value", get("/", "Host: x\r\nA: b\x1b\r\n"), 400},
    {"escape byte in a Connection value", get("/", "Host: x\r\nConnection: \033close\r\n"), 400},
    {"escape byte in an Upgrade value", get("/", "Host: x\r\nUpgrade: a\x1b\r\n"), 400},
    {"DEL in a value", get("/", "Host: x\r\nA: b\x7f\r\n"), 400},
    {"byte over 127 in a name", get("/", "Host: x\r\nA\xe9: b\r\n"), 400},
    {"parenthesis in a name", get("/", "Host: x\r\nA(: b\r\n"), 400},
    {"Host with a space", get("/", "Host: x y\r\n"), 400},
    {"Host with a path", get("/", "Host: x/y\r\n"), 400},
    {"Host with a user", get("/", "Host: u@x\r\n"), 400},
    {"Connection with hundreds of options",
     [] {
       std::string options;
       for (int i = 0; i < 100; ++i) options += "a" + std::to_string(i) + ",";
       return get("/", "Host: x\r\nConnection: " + options + "b\r\n");
     }(),
     400},
};

const std::vector<Refused> line_table = {
    {"not HTTP at all: a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and so on\r\n\r\n"s, 400},
    {"HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
    {"HTTP/0.9 as a version", "GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505},
    {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505},
    {"HTTP/3.0", "GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505},
    {"HTTP/1.10", "GET / HTTP/1.10\r\nHost: x\r\n\r\n", 400},
    {"no version", "GET /\r\n\r\n", 400},
    {"no version but fields", "GET /\r\nHost: x\r\n\r\n", 400},
    {"space behind the version", "GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400},
    {"two spaces before the target", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"two spaces before the version", "GET /  HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"tab instead of space", "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"lower-case protocol", "GET / http/1.1\r\nHost: x\r\n\r\n", 400},
    {"another protocol: RTSP", "GET / RTSP/1.0\r\nHost: x\r\n\r\n", 400},
    {"another protocol: ICE", "SOURCE / ICE/1.0\r\nHost: x\r\n\r\n", 400},
    {"unknown method", "FETCH / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"lower-case method", "get / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"CONNECT", "CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n", 400},
    {"space within the target", get("/a b"), 400},
    {"fragment in the target", get("/a#b"), 400},
    {"byte over 127 in the target", get("/\xc3\xa9"), 400},
    {"NUL in the target", get("/a\0b"s), 400},
    {"DEL in the target", get("/a\x7f"), 400},
    {"target without a slash", get("v1/models"), 400},
    {"asterisk but not OPTIONS", get("*"), 400},
    {"absolute form with another host than Host", get("http://y/"), 400},
    {"absolute form with a user", get("http://u@x/"), 400},
    {"absolute form without a host", get("http:///a"), 400},
    {"absolute form of another scheme", get("ftp://x/a"), 400},
    {"two blank lines before the request", "\r\n\r\n" + get("/"), 400},
    {"bare LF before the request", "\n" + get("/"), 400},
    {"bare CR before the request", "\r" + get("/"), 400},
};

const std::vector<Refused> chunk_table = {
    {"chunk size with a sign", chunked("+5\r\nhello\r\n0\r\n\r\n"), 400},
    {"chunk size with 0x", chunked("0x5\r\nhello\r\n0\r\n\r\n"), 400},
    {"chunk size with a space behind", chunked("5 \r\nhello\r\n0\r\n\r\n"), 400},
    {"chunk size with a space before", chunked(" 5\r\nhello\r\n0\r\n\r\n"), 400},
    {"empty chunk size", chunked("\r\nhello\r\n0\r\n\r\n"), 400},
    {"chunk size of letters", chunked("xyz\r\n"), 400},
    {"chunk size beyond 64 bits", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"), 400},
    {"chunk size with endless zeros", chunked("00000000000000005\r\nhello\r\n0\r\n\r\n"), 400},
    {"chunk size line with CR only", chunked("5\rhello\r\n0\r\n\r\n"), 400},
    {"any two bytes in place of the CRLF behind chunk data", chunked("5\r\nhelloXX0\r\n\r\n"), 400},
    {"LF only behind chunk data", chunked("5\r\nhello\n0\r\n\r\n"), 400},
    {"chunk longer than its size", chunked("5\r\nhello!\r\n0\r\n\r\n"), 400},
    {"extension ended by LF only", chunked("5;a\nhello\r\n0\r\n\r\n"), 400},
    {"control byte in an extension", chunked("5;a=\x01\r\nhello\r\n0\r\n\r\n"), 400},
    {"trailer ended by LF only", chunked("0\r\nA: b\n\r\n"), 400},
    {"trailer that is folded", chunked("0\r\nA: b\r\n c\r\n\r\n"), 400},
    {"trailer without a colon", chunked("0\r\nnonsense\r\n\r\n"), 400},
    {"trailer with an empty name", chunked("0\r\n: x\r\n\r\n"), 400},
    {"trailer with a NUL", chunked("0\r\nA: \0\r\n\r\n"s), 400},
    {"last LF missing", chunked("0\r\n\rX"), 400},
};

void expect_refused(const std::vector<Refused>& table) {
  for (const Refused& row : table) {
    SCOPED_TRACE(row.why);
    const testing::Record whole = read_requests(row.input);
    EXPECT_EQ(whole.error, row.status) << whole.what;
    EXPECT_NE(whole.what, "");
    testing::for_each_cut(row.input, [&](const std::vector<std::size_t>& cuts) {
      EXPECT_EQ(read_requests(row.input, cuts).error, row.status) << "cut at " << cuts[0];
    });
  }
}

}  // namespace

TEST(RequestStrictness, Framing) { expect_refused(framing_table); }
TEST(RequestStrictness, Head) { expect_refused(head_table); }
TEST(RequestStrictness, RequestLine) { expect_refused(line_table); }
TEST(RequestStrictness, Chunks) { expect_refused(chunk_table); }

TEST(RequestStrictness, ErrorSaysWhatAndWhere) {
  EXPECT_EQ(read_requests(get("/", "Host: x\r\nAccept: a\r\n b\r\n")).what,
            "header 2 (Accept): continues on the next line, which HTTP/1.1 no longer allows");
  EXPECT_EQ(read_requests(post("Transfer-Encoding: gzip, chunked\r\n")).what,
            "Transfer-Encoding must be exactly `chunked`, not `gzip, chunked`");
  EXPECT_EQ(read_requests("GET / HTTP/1.1\r\nHost: x\r\nA: b\x01\r\n\r\n").what,
            "byte 29 of the head: Invalid header value char");
}

TEST(RequestStrictness, DeadParserStaysDead) {
  RequestParser parser({});
  std::vector<std::string_view> body;
  ASSERT_FALSE(parser.feed(get("/", ""), body));
  const auto again = parser.feed(get("/"), body);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().status, 400);
  EXPECT_EQ(again.error().fault, Fault::client);
  parser.reset();
  EXPECT_FALSE(parser.feed(get("/"), body));
}

}  // namespace wg::http
