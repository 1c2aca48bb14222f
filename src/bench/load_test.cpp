// Loads over real sockets, against a server that answers every request alike.
#include "bench/load.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "net/listener.h"

namespace wg::bench {
namespace {

const std::string events =
    "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";
const std::string good = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nx-replica: a/0\r\nContent-Length: " +
                         std::to_string(events.size()) + "\r\n\r\n" + events;
const std::string busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";

struct Server {
  std::string answer;
  std::uint32_t requests = 0, connections = 0;
  std::uint32_t requests_per_connection = 1'000'000;  // then it hangs up without a word
};

net::Task<void> serve(Server& server, net::Stream accepted) {
  net::Stream stream = std::move(accepted);
  ++server.connections;
  http::RequestParser parser(http::Limits{});
  std::vector<char> buffer(64 * 1024);
  std::vector<std::string_view> spans;
  for (std::uint32_t served = 0; served < server.requests_per_connection;) {
    const auto size = co_await stream.read_some(buffer, Duration::zero());
    if (!size || *size == 0) co_return;
    bool complete = false;
    for (std::string_view rest(buffer.data(), *size); !rest.empty();) {
      const auto progress = parser.feed(rest, spans);
      if (!progress) co_return;
      rest.remove_prefix(progress->consumed);
      complete = complete || progress->complete;
    }
    if (!complete) continue;
    ++server.requests, ++served;
    parser.reset();
    const std::array<std::string_view, 1> pieces{server.answer};
    const auto sent = co_await stream.write(pieces, Duration::zero());
    if (!sent) co_return;
  }
}

class LoadTest : public testing::Test {
 protected:
  LoadTest() : listener_(std::move(*net::Listener::bind(loop_, "127.0.0.1", 0, false))) {
    listener_.start([this](net::Stream stream) { net::spawn(serve(server_, std::move(stream))); },
                    [](std::string_view) {});
    plan_.target.host = "127.0.0.1";
    plan_.target.port = listener_.port();
    plan_.work.load = {.head = 10, .first = {10, 20}, .added = {5, 5}, .output = {1, 1}, .turns = 3};
    plan_.sessions = 2;
  }

  // Stops the load when `enough` says so, or after its length.
  Measured run(const std::function<bool(const Measured&)>& enough) {
    Load load(loop_, plan_, [this] { loop_.stop(); });
    net::Timer look(loop_, [&] {
      if (enough(load.measured())) return load.stop();
      look_again_->set(net::Loop::tick);
    });
    look_again_ = &look;
    look.set(net::Loop::tick);
    load.start();
    loop_.run();
    return load.take();
  }

  net::Loop loop_;
  net::Listener listener_;
  Server server_{good};
  LoadPlan plan_;
  net::Timer* look_again_ = nullptr;
};

TEST_F(LoadTest, sessions_follow_each_other) {
  const Measured seen = run([](const Measured& m) { return m.sessions.size() >= 6; });
  EXPECT_EQ(seen.failures, 0u);
  EXPECT_GE(seen.turns.size(), 18u);
  EXPECT_EQ(seen.turns_by_place.at("a/0"), seen.turns.size());
  EXPECT_EQ(seen.turns.front().prompt, Tokens{9});
  EXPECT_FALSE(seen.turns.front().stayed);
  EXPECT_GT(seen.ended, seen.began);
}

TEST_F(LoadTest, failures_are_counted_and_do_not_hammer) {
  server_.answer = busy;
  const Measured seen = run([](const Measured& m) { return m.failures >= 2; });
  EXPECT_EQ(seen.failures, 2u);
  EXPECT_EQ(seen.last_failure.substr(0, 10), "status 503");
  EXPECT_EQ(seen.failures_by_kind.at("status 503"), 2u);
  EXPECT_TRUE(seen.turns.empty() && seen.sessions.empty());
  EXPECT_EQ(server_.requests, 2u);
}

TEST_F(LoadTest, nobody_listens) {
  listener_.stop();
  const Measured seen = run([](const Measured& m) { return m.failures >= 2; });
  EXPECT_EQ(seen.last_failure, "refused while connecting");
}

TEST_F(LoadTest, a_kept_connection_that_was_closed_is_no_failure) {
  server_.requests_per_connection = 1;
  const Measured seen = run([](const Measured& m) { return m.sessions.size() >= 2; });
  EXPECT_EQ(seen.failures, 0u);
  EXPECT_GE(server_.connections, 6u);
}

TEST_F(LoadTest, what_is_under_way_at_the_end_is_not_counted) {
  server_.answer = good.substr(0, good.size() - 20);  // never complete
  const Measured seen = run([this](const Measured&) { return server_.requests >= 2; });
  EXPECT_EQ(seen.failures, 0u);
  EXPECT_TRUE(seen.turns.empty());
}

TEST_F(LoadTest, what_ends_in_the_warm_up_is_not_counted) {
  plan_.warmup = std::chrono::milliseconds(100);
  plan_.length = std::chrono::milliseconds(100);
  bool told = false;
  const TimePoint began = loop_.now();
  Load load(loop_, plan_, [this] { loop_.stop(); }, [&] { told = true; });
  load.start();
  EXPECT_FALSE(load.is_measuring());
  loop_.run();
  EXPECT_TRUE(told && load.is_measuring());
  const Measured seen = load.take();
  EXPECT_GE(seen.began - began, plan_.warmup);
  ASSERT_FALSE(seen.turns.empty());
  for (const Turn& turn : seen.turns) EXPECT_GE(turn.ended, seen.began);
}

TEST_F(LoadTest, ends_by_itself) {
  plan_.length = std::chrono::milliseconds(50);
  const Measured seen = run([](const Measured&) { return false; });
  EXPECT_GE(seen.ended - seen.began, plan_.length);
}

}  // namespace
}  // namespace wg::bench
