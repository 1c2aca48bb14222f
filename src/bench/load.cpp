#include "bench/load.h"

#include "bench/text.h"
#include "core/hash.h"

namespace wg::bench {
namespace {
// A target that answers errors must not be asked as fast as it can say no.
constexpr Duration pause_after_failure = std::chrono::seconds(1);

}  // namespace

struct Load::Slot {
  Slot(net::Loop& loop, const Target& target) : caller(loop, target), nap(loop) {}
  Caller caller;
  Nap nap;
};

Load::Load(net::Loop& loop, LoadPlan plan, std::function<void()> finished, std::function<void()> measuring)
    : loop_(loop),
      plan_(std::move(plan)),
      finished_(std::move(finished)),
      measuring_(std::move(measuring)),
      end_(loop, [this] { stop(); }),
      warm_(loop, [this] { warmed_up(); }) {}

Load::~Load() = default;

void Load::start() {
  measured_.began = loop_.now();
  warm_up_over_ = plan_.warmup <= Duration::zero();
  if (!warm_up_over_) warm_.set(plan_.warmup);
  if (plan_.length > Duration::zero()) end_.set(plan_.warmup + plan_.length);
  running_ = plan_.sessions;
  for (std::uint32_t number = 0; number < plan_.sessions; ++number) {
    slots_.push_back(std::make_unique<Slot>(loop_, plan_.target));
    net::spawn(run(*slots_.back(), number));
  }
}

net::Task<void> Load::run(Slot& slot, std::uint32_t number) {
  const Duration first = from_seconds(to_seconds(sim::first_start(plan_.work.load, number)) / plan_.time_scale);
  co_await slot.nap.sleep(first);
  for (std::uint64_t n = 0; !stopping_; ++n) {
    sim::SessionPlan session_plan = sim::session_of(plan_.work, plan_.seed, number, n);
    const std::string head = head_of(session_plan);
    Session session(loop_, plan_.target, std::move(session_plan), head, plan_.text, plan_.time_scale);
    const bool good = co_await session.run(slot.caller, slot.nap, measured_);
    slot.caller.hang_up();
    const Duration pause = good ? Duration::zero() : pause_after_failure;
    co_await slot.nap.sleep(pause);
  }
  slot_ended();
}

// Sessions with the same head_text share their heads, as far as the shorter one goes.
std::string Load::head_of(const sim::SessionPlan& session) {
  const std::size_t bytes = bytes_of(plan_.target, session.head);
  std::string& head = heads_[session.head_text];
  if (head.size() < bytes) head = made_up_text(mix(plan_.text, session.head_text), bytes);
  return head.substr(0, bytes);
}

void Load::stop() {
  if (stopping_) return;
  stopping_ = true;
  end_.cancel();
  warm_.cancel();
  measured_.ended = loop_.now();
  for (const auto& slot : slots_) {
    slot->caller.cancel();
    slot->nap.end();
  }
}

// What ended before is forgotten; what is under way counts when it ends, as in the simulator.
void Load::warmed_up() {
  warm_up_over_ = true;
  measured_ = {};
  measured_.began = loop_.now();
  if (measuring_) measuring_();
}

void Load::slot_ended() {
  // Later, and not from a member: `finished` may destroy us.
  if (--running_ == 0) loop_.post([finished = std::move(finished_)] { finished(); });
}

}  // namespace wg::bench
