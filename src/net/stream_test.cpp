// Streams over real loopback sockets. Each test runs a loop on its own thread until its tasks are over.
#include "net/stream.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "net/dial.h"
#include "net/idle_pool.h"
#include "net/listener.h"
#include "net/task.h"

namespace wg::net {
namespace {

constexpr Duration second = std::chrono::seconds(1);

template <class T>
bool failed_with(const IoResult<T>& result, IoError error) {
  return !result.has_value() && result.error() == error;
}

struct Pair {
  Loop loop;
  Listener listener = std::move(*Listener::bind(loop, "127.0.0.1", 0, false));
  Stream accepted, dialled;

  // Runs `test` with both ends connected, then stops the loop.
  void run(Task<void> (*test)(Pair&)) {
    listener.start(
        [this](Stream stream) {
          accepted = std::move(stream);
          try_start();
        },
        [](std::string_view) {});
    start = test;
    spawn(connect(*this));
    loop.run();
  }
  void try_start() {
    if (accepted && dialled) spawn(whole(*this));
  }
  static Task<void> connect(Pair& pair) {
    Dial dial(pair.loop, "127.0.0.1", pair.listener.port(), second);
    auto stream = co_await dial;
    EXPECT_TRUE(stream.has_value());
    pair.dialled = std::move(*stream);
    pair.try_start();
  }
  static Task<void> whole(Pair& pair) {
    co_await pair.start(pair);
    pair.loop.stop();
  }
  Task<void> (*start)(Pair&) = nullptr;
};

Task<void> send_all(Stream& stream, std::string bytes) {
  const std::array<std::string_view, 1> pieces{bytes};
  const auto sent = co_await stream.write(pieces, second);
  EXPECT_TRUE(sent.has_value());
}

Task<std::string> receive(Stream& stream, std::size_t size) {
  std::string all;
  std::array<char, 4096> buffer;
  while (all.size() < size) {
    const auto got = co_await stream.read_some(buffer, second);
    if (!got || *got == 0) break;
    all.append(buffer.data(), *got);
  }
  co_return all;
}

Task<void> bytes_arrive(Pair& p) {
  co_await send_all(p.dialled, "hello");
  const std::string text = co_await receive(p.accepted, 5);
  EXPECT_EQ(text, "hello");
}
TEST(Stream, BytesArrive) { Pair().run(bytes_arrive); }

Task<void> deadline_ends_a_read(Pair& p) {
  std::array<char, 16> buffer;
  const auto got = co_await p.accepted.read_some(buffer, std::chrono::milliseconds(30));
  EXPECT_TRUE(failed_with(got, IoError::timed_out));
  co_await send_all(p.dialled, "later");  // the stream is still good
  const std::string text = co_await receive(p.accepted, 5);
  EXPECT_EQ(text, "later");
}
TEST(Stream, DeadlineEndsAReadAndTheStreamLivesOn) { Pair().run(deadline_ends_a_read); }

Task<void> close_reads_as_zero(Pair& p) {
  p.dialled.close();
  std::array<char, 16> buffer;
  const auto got = co_await p.accepted.read_some(buffer, second);
  EXPECT_TRUE(got.has_value() && *got == 0);
}
TEST(Stream, PeersCloseReadsAsZero) { Pair().run(close_reads_as_zero); }

Task<void> reset_reads_as_closed(Pair& p) {
  p.dialled.reset();
  std::array<char, 16> buffer;
  const auto got = co_await p.accepted.read_some(buffer, second);
  EXPECT_TRUE(failed_with(got, IoError::closed));
}
TEST(Stream, PeersResetReadsAsClosed) { Pair().run(reset_reads_as_closed); }

// A reader that is woken by cancel() from the watch of another stream: how a client that leaves ends an upstream read.
Task<void> watch_cancels_another(Pair& p) {
  auto far = std::make_unique<Listener>(std::move(*Listener::bind(p.loop, "127.0.0.1", 0, false)));
  Stream silent;
  far->start([&silent](Stream stream) { silent = std::move(stream); }, [](std::string_view) {});
  Dial dial(p.loop, "127.0.0.1", far->port(), second);
  auto upstream = co_await dial;
  EXPECT_TRUE(upstream.has_value());
  bool gone = false;
  Stream* const reader = &*upstream;
  p.accepted.watch([&gone, reader] {
    gone = true;
    reader->cancel();
  });
  p.dialled.close();
  std::array<char, 16> buffer;
  const auto got = co_await reader->read_some(buffer, second);
  EXPECT_TRUE(gone);
  EXPECT_TRUE(failed_with(got, IoError::cancelled));
}
TEST(Stream, WatchTellsAtOnceAndCancelEndsARead) { Pair().run(watch_cancels_another); }

Task<void> watch_keeps_bytes(Pair& p) {
  bool gone = false;
  p.accepted.watch([&gone] { gone = true; });
  co_await send_all(p.dialled, std::string(6000, 'x') + "end");
  const std::string text = co_await receive(p.accepted, 6003);
  EXPECT_EQ(text.size(), 6003u);
  EXPECT_EQ(text.substr(6000), "end");
  EXPECT_FALSE(gone);
}
TEST(Stream, WhatComesDuringAWatchIsKept) { Pair().run(watch_keeps_bytes); }

Task<void> arrived_bytes_are_shown(Pair& p) {
  std::string shown;
  p.accepted.watch([] {}, [&shown](std::string_view bytes) { shown = bytes; });
  co_await send_all(p.dialled, "one");
  while (shown != "one") co_await Pause(p.loop, std::chrono::milliseconds(1));
  co_await send_all(p.dialled, "two");
  while (shown != "onetwo") co_await Pause(p.loop, std::chrono::milliseconds(1));
  p.accepted.unwatch();
  const std::string text = co_await receive(p.accepted, 6);
  EXPECT_EQ(text, "onetwo");
}
TEST(Stream, AWatchShowsWhatHasArrivedAndKeepsIt) { Pair().run(arrived_bytes_are_shown); }

// More than is read ahead lies in front of the peer's end, so no read can find it.
Task<void> gone_behind_unread_bytes(Pair& p) {
  bool gone = false;
  p.accepted.watch([&gone] { gone = true; });
  co_await send_all(p.dialled, std::string(100'000, 'x'));
  co_await Pause(p.loop, std::chrono::milliseconds(700));
  EXPECT_FALSE(gone);
  p.dialled.close();
  for (int i = 0; i < 300 && !gone; ++i) co_await Pause(p.loop, std::chrono::milliseconds(10));
  EXPECT_TRUE(gone);
}
TEST(Stream, AWatchNoticesAnEndBehindBytesThatNobodyReads) { Pair().run(gone_behind_unread_bytes); }

// 64 MB of pings to a peer that does not read; then it reads, and finds the first ones whole and one after the other.
Task<void> signs_of_life_do_not_pile_up(Pair& p) {
  const std::string ping = std::string(65'535, 'p') + "\n";
  for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(p.dialled.write_now(ping));
  p.dialled.shutdown_write();
  std::array<char, 65'536> buffer;
  std::size_t size = 0;
  for (;;) {
    const auto got = co_await p.accepted.read_some(buffer, second);
    if (!got || *got == 0) break;
    size += *got;
  }
  EXPECT_GT(size, 65'536u);
  EXPECT_LT(size, 20u << 20) << "only what the kernel held";
}
TEST(Stream, SignsOfLifeToOneWhoDoesNotReadAreDropped) { Pair().run(signs_of_life_do_not_pile_up); }

Task<void> read_megabytes(Pair& p) {
  const std::string text = co_await receive(p.accepted, 8u << 20);
  EXPECT_EQ(text.size(), 8u << 20);
  EXPECT_EQ(text.back(), 'z');
  p.loop.stop();
}
Task<void> big_write(Pair& p) {
  spawn(read_megabytes(p));
  std::string big(8u << 20, 'y');
  big.back() = 'z';
  EXPECT_TRUE(p.dialled.write_now("")) << "an empty sign of life is fine";
  const std::array<std::string_view, 3> pieces{std::string_view(big).substr(0, 5), std::string_view(),
                                               std::string_view(big).substr(5)};
  const auto sent = co_await p.dialled.write(pieces, second);
  EXPECT_TRUE(sent.has_value());
  co_await receive(p.dialled, 1);  // until the reader has stopped the loop
}
TEST(Stream, WritesWaitForTheKernelAndLoseNothing) { Pair().run(big_write); }

Task<void> stuck_write(Pair& p) {
  const std::string big(64u << 20, 'y');
  const std::array<std::string_view, 1> pieces{big};
  const auto sent = co_await p.dialled.write(pieces, std::chrono::milliseconds(50));
  EXPECT_TRUE(failed_with(sent, IoError::timed_out));
}
TEST(Stream, AWriteToAPeerThatNeverReadsTimesOut) { Pair().run(stuck_write); }

Task<void> pool_skips_closed(Pair& p) {
  IdlePool pool(p.loop, second);
  pool.give_back(std::move(p.dialled));
  EXPECT_EQ(pool.size(), 1u);
  p.accepted.close();
  co_await Pause(p.loop, std::chrono::milliseconds(1));  // one turn of the loop: the FIN is on loopback already
  EXPECT_FALSE(pool.take().has_value());
  EXPECT_EQ(pool.size(), 0u);
}
TEST(IdlePool, AConnectionThatTheEngineClosedIsNotHandedOut) { Pair().run(pool_skips_closed); }

Task<void> pool_drops_old(Pair& p) {
  IdlePool young(p.loop, second, std::chrono::milliseconds(50)), any(p.loop, second);
  co_await Pause(p.loop, std::chrono::milliseconds(100));
  EXPECT_GE(p.dialled.age(), std::chrono::milliseconds(100));
  young.give_back(std::move(p.dialled));
  EXPECT_EQ(young.size(), 0u);
  any.give_back(std::move(p.accepted));
  EXPECT_EQ(any.size(), 1u);
}
TEST(IdlePool, AConnectionToANameIsNotKeptForEver) { Pair().run(pool_drops_old); }

TEST(Dial, NamesAreNoAddresses) {
  EXPECT_TRUE(is_address("127.0.0.1"));
  EXPECT_TRUE(is_address("::1"));
  EXPECT_FALSE(is_address("localhost"));
  EXPECT_FALSE(is_address("gpu-1.example"));
}

// What everything behind it takes for time; nothing in the gateway reads another clock to decide.
TEST(Loop, ItsTimeIsTheMonotonicClock) {
  const Loop loop;
  using Clock = std::chrono::steady_clock;
  const auto before = std::chrono::duration_cast<Duration>(Clock::now().time_since_epoch());
  const auto seen = loop.now().time_since_epoch();
  const auto after = std::chrono::duration_cast<Duration>(Clock::now().time_since_epoch());
  EXPECT_LE(before, seen);
  EXPECT_LE(seen, after);
  EXPECT_TRUE(Clock::is_steady);
}

Task<void> refused(Loop& loop, std::uint16_t port) {
  Dial dial(loop, "127.0.0.1", port, second);
  const auto stream = co_await dial;
  EXPECT_TRUE(failed_with(stream, IoError::refused));
  loop.stop();
}
TEST(Dial, NobodyListeningIsRefused) {
  Loop loop;
  std::uint16_t port;
  {
    auto gone = Listener::bind(loop, "127.0.0.1", 0, false);
    port = gone->port();
  }
  spawn(refused(loop, port));
  loop.run();
}

// Found by breaking: this came back as "aborted", so a process without descriptors took its engines for dead.
Task<void> exhausted(Loop& loop, std::uint16_t port) {
  Dial dial(loop, "127.0.0.1", port, second);
  const auto stream = co_await dial;
  EXPECT_TRUE(failed_with(stream, IoError::exhausted));
  loop.stop();
}
TEST(Dial, WithoutADescriptorNobodyElseIsBlamed) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer looks at memory through a pipe, and there is no descriptor for one";
#endif
  Loop loop;
  auto listener = Listener::bind(loop, "127.0.0.1", 0, false);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{3, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  spawn(exhausted(loop, listener->port()));
  loop.run();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST(Listener, AnAddressInUseIsSaidInWords) {
  Loop loop;
  const auto first = Listener::bind(loop, "127.0.0.1", 0, false);
  const auto second_one = Listener::bind(loop, "127.0.0.1", first->port(), false);
  ASSERT_FALSE(second_one.has_value());
  EXPECT_NE(second_one.error().what.find("cannot listen on 127.0.0.1:"), std::string::npos);
}

}  // namespace
}  // namespace wg::net
