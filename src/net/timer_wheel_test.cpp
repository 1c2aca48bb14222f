#include "net/timer_wheel.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace wg::net {
namespace {

struct Wheel {
  Loop loop;  // never run: only what Timer's constructor needs
  TimerWheel wheel;
  std::vector<int> fired;
  std::unique_ptr<Timer> timer(int name) {
    return std::make_unique<Timer>(loop, [this, name] { fired.push_back(name); });
  }
};

TEST(TimerWheel, FiresWhenDueAndNotBefore) {
  Wheel w;
  const auto one = w.timer(1), two = w.timer(2);
  w.wheel.set(*one, 5);
  w.wheel.set(*two, 1024 + 5);  // the same slot, a round later
  w.wheel.advance(4);
  EXPECT_TRUE(w.fired.empty());
  w.wheel.advance(5);
  EXPECT_EQ(w.fired, (std::vector{1}));
  w.wheel.advance(1028);
  EXPECT_EQ(w.fired, (std::vector{1}));
  w.wheel.advance(1029);
  EXPECT_EQ(w.fired, (std::vector{1, 2}));
}

TEST(TimerWheel, PushingADeadlineFurtherNeedsNoRelinkButHolds) {
  Wheel w;
  const auto one = w.timer(1);
  for (std::uint64_t tick = 1; tick <= 100; ++tick) {
    w.wheel.set(*one, tick + 10);
    w.wheel.advance(tick);
  }
  EXPECT_TRUE(w.fired.empty());
  w.wheel.advance(110);
  EXPECT_EQ(w.fired, (std::vector{1}));
}

TEST(TimerWheel, BringingADeadlineForwardHolds) {
  Wheel w;
  const auto one = w.timer(1);
  w.wheel.set(*one, 100);
  w.wheel.set(*one, 3);
  w.wheel.advance(3);
  EXPECT_EQ(w.fired, (std::vector{1}));
  w.wheel.advance(200);
  EXPECT_EQ(w.fired, (std::vector{1}));
}

TEST(TimerWheel, ATimerMayCancelItsNeighboursWhileFiring) {
  Wheel w;
  std::unique_ptr<Timer> second = w.timer(2), third = w.timer(3);
  Timer first(w.loop, [&] {
    w.wheel.cancel(*second);
    w.wheel.cancel(*third);
  });
  w.wheel.set(*third, 7);
  w.wheel.set(*second, 7);
  w.wheel.set(first, 7);  // linked last, so fired first
  w.wheel.advance(7);
  EXPECT_TRUE(w.fired.empty());
  EXPECT_FALSE(second->armed());
}

TEST(TimerWheel, ATimerMaySetItselfAgain) {
  Wheel w;
  int count = 0;
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(w.loop, [&] {
    if (++count < 3) w.wheel.set(*timer, w.wheel.now() + 1024);
  });
  w.wheel.set(*timer, 1);
  w.wheel.advance(10'000);
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace wg::net
