// Damaged messages: nothing crashes or reads too far, no more is consumed than there is, errors carry a status that is
// promised, and however the bytes are cut the result is the same. Seeded; fuzz/ has the same checks without an end.
#include <gtest/gtest.h>

#include <set>

#include "core/rng.h"
#include "http/test_messages.h"

namespace wg::http {

namespace {

const std::vector<std::string> requests = {
    "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST /v1/messages?beta=true HTTP/1.1\r\nHost: x:80\r\nConnection: keep-alive, x\r\nContent-Length: 5\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n",
    "POST http://x/a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\naGET / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
};
const std::vector<std::string> responses = {
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.0 404 Not Found\r\nA:\r\n\r\nuntil close",
    "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n",
};
const std::vector<std::string> pieces = {
    "\r\n",
    "\r",
    "\n",
    " ",
    "\t",
    ":",
    ",",
    ";",
    "0",
    "5",
    "ffffffffffffffff",
    "Content-Length: 3\r\n",
    "chunked",
    "Transfer-Encoding: chunked\r\n",
    "Host: y\r\n",
    " HTTP/1.1",
    "\r\n\r\n",
    "0\r\n\r\n",
    "http://",
    "\x80",
    "#",
    "Connection: close\r\n",
    std::string(1, '\0'),
    "HTTP/1.1 200 OK\r\n",
};

std::size_t pick(Rng& rng, std::size_t size) {
  return static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(size) - 1));
}

std::string mutate(Rng& rng, std::string text) {
  for (std::int64_t i = rng.between(1, 4); i > 0 && !text.empty(); --i) {
    const std::size_t at = pick(rng, text.size());
    switch (rng.between(0, 4)) {
      case 0:
        text[at] = static_cast<char>(rng.between(0, 255));
        break;
      case 1:
        text.erase(at, pick(rng, 8) + 1);
        break;
      case 2:
        text.insert(at, pieces[pick(rng, pieces.size())]);
        break;
      case 3:
        text.insert(at, text.substr(pick(rng, text.size()), pick(rng, 30)));
        break;
      default:
        std::swap(text[at], text[pick(rng, text.size())]);
        break;
    }
  }
  return text;
}

std::vector<std::size_t> random_cuts(Rng& rng, std::size_t size) {
  std::set<std::size_t> cuts;
  for (std::int64_t i = rng.between(1, 6); i > 0 && size > 1; --i) cuts.insert(pick(rng, size - 1) + 1);
  return {cuts.begin(), cuts.end()};
}

}  // namespace

TEST(Mutations, Requests) {
  const std::set<int> promised = {0, 400, 413, 414, 431, 501, 505};
  const Limits limits{.head_bytes = 300, .head_count = 8, .target_bytes = 60, .body_bytes = 40};
  Rng rng(11);
  std::size_t taken = 0;
  for (int round = 0; round < 40'000; ++round) {
    const std::string text = mutate(rng, requests[pick(rng, requests.size())]);
    const testing::Record whole = testing::read_requests(text, {}, limits);
    EXPECT_TRUE(promised.contains(whole.error)) << whole.error;
    EXPECT_LE(whole.consumed, text.size());
    taken += whole.error == 0;
    EXPECT_EQ(testing::read_requests(text, random_cuts(rng, text.size()), limits), whole)
        << ::testing::PrintToString(text) << " " << whole.what;
  }
  EXPECT_GT(taken, 2000u) << "the mutations still leave good messages";
}

TEST(Mutations, Responses) {
  Rng rng(12);
  std::size_t taken = 0;
  for (int round = 0; round < 40'000; ++round) {
    const std::string text = mutate(rng, responses[pick(rng, responses.size())]);
    const bool to_head = rng.between(0, 3) == 0;
    const testing::Record whole = testing::read_responses(text, {}, to_head);
    EXPECT_TRUE(whole.error == 0 || whole.error == 502) << whole.error;
    taken += whole.error == 0;
    EXPECT_EQ(testing::read_responses(text, random_cuts(rng, text.size()), to_head), whole)
        << ::testing::PrintToString(text) << " " << whole.what;
  }
  EXPECT_GT(taken, 2000u);
}

}  // namespace wg::http
