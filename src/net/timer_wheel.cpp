#include "net/timer_wheel.h"

namespace wg::net {

void TimerWheel::link(Timer& timer, std::uint64_t tick) {
  Slot& slot = wheel_[tick % slots];
  timer.slot_tick_ = tick;
  timer.previous_ = nullptr;
  timer.next_ = slot.first;
  if (slot.first) slot.first->previous_ = &timer;
  slot.first = &timer;
}

void TimerWheel::unlink(Timer& timer) {
  if (cursor_ == &timer) cursor_ = timer.next_;
  if (timer.previous_)
    timer.previous_->next_ = timer.next_;
  else
    wheel_[timer.slot_tick_ % slots].first = timer.next_;
  if (timer.next_) timer.next_->previous_ = timer.previous_;
  timer.next_ = timer.previous_ = nullptr;
}

void TimerWheel::set(Timer& timer, std::uint64_t due_tick) {
  if (due_tick <= now_) due_tick = now_ + 1;
  timer.due_tick_ = due_tick;
  // Most timers are deadlines pushed further and further: they stay where they are linked and move when that is due.
  if (timer.armed_ && timer.slot_tick_ <= due_tick) return;
  if (timer.armed_) unlink(timer);
  timer.armed_ = true;
  link(timer, due_tick);
}

void TimerWheel::cancel(Timer& timer) {
  if (!timer.armed_) return;
  unlink(timer);
  timer.armed_ = false;
}

void TimerWheel::advance(std::uint64_t tick) {
  while (now_ < tick) {
    ++now_;
    for (cursor_ = wheel_[now_ % slots].first; cursor_;) {
      Timer& timer = *cursor_;
      cursor_ = timer.next_;
      if (timer.slot_tick_ > now_) continue;  // a later round of the wheel
      unlink(timer);
      if (timer.due_tick_ > now_) {
        link(timer, timer.due_tick_);
        continue;
      }
      timer.armed_ = false;
      timer.fired_();
    }
  }
}

}  // namespace wg::net
