// What a request must not look like (tests/data/smuggling), each with the reason and the answer. Every input is also
// cut in two at every byte, and fed byte by byte: how reads fall must not decide what is refused.
#include <gtest/gtest.h>

#include "core/test_inputs.h"
#include "http/test_messages.h"

namespace wg::http {

namespace {

using testing::read_requests;

std::string post(const std::string& fields, const std::string& body = "") {
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + body;
}

std::string get(const std::string& target, const std::string& fields = "Host: x\r\n") {
  return "GET " + target + " HTTP/1.1\r\n" + fields + "\r\n";
}

void expect_refused(const wg::testing::Input& row) {
  SCOPED_TRACE(row.why);
  const testing::Record whole = read_requests(row.bytes);
  EXPECT_EQ(whole.error, std::stoi(row.verdict)) << whole.what;
  EXPECT_NE(whole.what, "");
  testing::for_each_cut(row.bytes, [&](const std::vector<std::size_t>& cuts) {
    EXPECT_EQ(read_requests(row.bytes, cuts).error, whole.error) << "cut at " << cuts[0];
  });
}

void expect_refused(const std::string& file) {
  for (const wg::testing::Input& row : wg::testing::inputs("smuggling/" + file + ".txt")) expect_refused(row);
}

}  // namespace

TEST(RequestStrictness, Framing) { expect_refused("framing"); }
TEST(RequestStrictness, Head) { expect_refused("head"); }
TEST(RequestStrictness, RequestLine) { expect_refused("line"); }
TEST(RequestStrictness, Chunks) { expect_refused("chunks"); }

TEST(RequestStrictness, HundredsOfConnectionOptions) {
  std::string options;
  for (int i = 0; i < 100; ++i) options += "a" + std::to_string(i) + ",";
  expect_refused({"400", "hundreds of options", get("/", "Host: x\r\nConnection: " + options + "b\r\n")});
}

// What is unusual but has one clear end: all of it is taken, and written for an engine it has one length and one host.
TEST(RequestStrictness, Taken) {
  for (const wg::testing::Input& row : wg::testing::inputs("smuggling/taken.txt")) {
    SCOPED_TRACE(row.why);
    const testing::Record whole = read_requests(row.bytes);
    EXPECT_EQ(whole.error, 0) << whole.what;
    EXPECT_EQ(whole.consumed, row.bytes.size());
    ASSERT_FALSE(whole.messages.empty());
    for (const testing::Message& message : whole.messages) {
      EXPECT_TRUE(message.complete);
      EXPECT_EQ(message.body, R"({"model":"m","messages":[],"max_tokens":1})");
    }
    testing::for_each_cut(row.bytes, [&](const std::vector<std::size_t>& cuts) {
      EXPECT_EQ(read_requests(row.bytes, cuts), whole) << "cut at " << cuts[0];
    });
  }
}

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
