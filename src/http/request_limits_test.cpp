// Limits hold however the bytes trickle in, at the exact byte, and before memory was spent on what is refused.
#include <gtest/gtest.h>

#include "http/body_reader.h"
#include "http/test_messages.h"

namespace wg::http {

namespace {

using testing::read_requests;

const Limits small{.head_bytes = 200, .head_count = 5, .target_bytes = 50, .body_bytes = 10};

std::string request(const std::string& target, const std::string& fields, const std::string& body = "") {
  return "POST " + target + " HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + body;
}

// The status, which must be the same whole, in two pieces and byte by byte.
int status(const std::string& input) {
  const int whole = read_requests(input, {}, small).error;
  testing::for_each_cut(input, [&](const std::vector<std::size_t>& cuts) {
    EXPECT_EQ(read_requests(input, cuts, small).error, whole) << "cut at " << cuts[0];
  });
  return whole;
}

std::string head_of(std::size_t bytes) {
  const std::string rest = request("/", "A: \r\n");
  return request("/", "A: " + std::string(bytes - rest.size(), 'a') + "\r\n");
}

}  // namespace

TEST(RequestLimits, HeadBytes) {
  ASSERT_EQ(head_of(200).size(), 200u);
  EXPECT_EQ(status(head_of(200)), 0);
  EXPECT_EQ(status(head_of(201)), 431);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA: " + std::string(300, 'a')), 431) << "the end need not come";
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA: " + std::string(300, ' ')), 431) << "skipped spaces count";
  EXPECT_EQ(status("GET / HTTP/1.1\r\n" + std::string(300, 'a')), 431) << "names count";
  EXPECT_EQ(status("GET " + std::string(300, ' ')), 431);
}

TEST(RequestLimits, HeaderCount) {
  EXPECT_EQ(status(request("/", "A:\r\nB:\r\nC:\r\nD:\r\n")), 0);
  EXPECT_EQ(status(request("/", "A:\r\nB:\r\nC:\r\nD:\r\nE:\r\n")), 431);
}

TEST(RequestLimits, Target) {
  EXPECT_EQ(status(request("/" + std::string(49, 'a'), "")), 0);
  EXPECT_EQ(status(request("/" + std::string(50, 'a'), "")), 414);
  EXPECT_EQ(status("GET /" + std::string(300, 'a')), 414) << "before the head as a whole is too long";
}

// Found by fuzzing: a limit and another fault close together, where the cut decided which of them was said.
TEST(RequestLimits, TheFirstFaultIsSaidHoweverTheReadsFall) {
  EXPECT_EQ(status(request("/", "A:\r\nB:\r\nC:\r\nD:\r\na b:\r\n")), 400) << "a sixth name that is none";
  EXPECT_EQ(status(request("/", "A:\r\nB:\r\nC:\r\nD:\r\nE: \x01\r\n")), 431);
  EXPECT_EQ(status("GET /" + std::string(60, 'a') + "\x7f HTTP/1.1\r\n"), 400) << "a long target, then a bad byte";
  EXPECT_EQ(status("GET /" + std::string(60, 'a') + " HTTP/9.9\r\n"), 414);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA: " + std::string(200, 'a') + "\x01\r\n"), 431) << "beyond the head";
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\n" + std::string(160, 'f') + " :\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\n" + std::string(170, 'f') + ":\r\n"), 431);
}

TEST(RequestLimits, BodyByItsLengthAtTheHead) {
  EXPECT_EQ(status(request("/", "Content-Length: 10\r\n", "0123456789")), 0);
  EXPECT_EQ(status(request("/", "Content-Length: 11\r\n")), 413);
  EXPECT_EQ(status(request("/", "Content-Length: 9999999999999999999\r\n")), 413);
}

TEST(RequestLimits, BodyByTheSumOfItsChunks) {
  const std::string fields = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(status(request("/", fields, "5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n")), 0);
  EXPECT_EQ(status(request("/", fields, "5\r\nhello\r\n6\r\n")), 413) << "before its first byte";
  EXPECT_EQ(status(request("/", fields, "b\r\n")), 413);
  EXPECT_EQ(status(request("/", fields, "1\r\na\r\nffffffffffffffff\r\n")), 413) << "a sum that would wrap";
}

TEST(RequestLimits, ExtensionsAndTrailers) {
  const std::string fields = "Transfer-Encoding: chunked\r\n";
  const auto read = [&](const std::string& body) { return read_requests(request("/", fields, body), {}, small).error; };
  const std::size_t limit = BodyReader::skipped_limit;
  EXPECT_EQ(read("5;" + std::string(limit - 1, 'a') + "\r\nhello\r\n0\r\n\r\n"), 0);
  EXPECT_EQ(read("5;" + std::string(limit, 'a') + "\r\nhello\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(read("0\r\nA:" + std::string(limit - 2, ' ') + "\r\n\r\n"), 0);
  EXPECT_EQ(read("0\r\nA:" + std::string(limit - 1, ' ') + "\r\n\r\n"), 400);
  std::string many;
  for (int i = 0; i < 10; ++i) many += "1;" + std::string(2000, 'x') + "\r\na\r\n";
  EXPECT_EQ(read(many), 400) << "the sum over the message";
}

}  // namespace wg::http
