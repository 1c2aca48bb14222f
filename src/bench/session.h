// One agent session in a closed loop: a turn is asked when the one before is answered, and carries all that was said.
// Owner: one slot of a load, on one loop.
#pragma once

#include <cstdint>
#include <string>

#include "bench/caller.h"
#include "bench/conversation.h"
#include "bench/measured.h"
#include "bench/nap.h"
#include "sim/workload.h"

namespace wg::bench {

class Session {
 public:
  // `head`: the system prompt, which all sessions of a load share; `text`: names what is said otherwise. Pauses are
  // `time_scale` times shorter than planned.
  Session(net::Loop& loop, const Target& target, sim::SessionPlan plan, const std::string& head, std::uint64_t text,
          double time_scale);

  // All turns and the pause behind each, noted in `measured`. False: ended early, by a failure (which is counted) or
  // because `caller` was cancelled.
  net::Task<bool> run(Caller& caller, Nap& nap, Measured& measured);

 private:
  std::size_t rewind(const sim::TurnPlan& turn);
  std::string ending_headers(const sim::TurnPlan& turn) const;
  bool note(const Answer& answer, TimePoint began, Measured& measured);

  net::Loop& loop_;
  const Target& target_;
  const sim::SessionPlan plan_;
  const std::uint64_t text_;
  const double time_scale_;
  const std::string key_;
  Conversation conversation_;
  std::string place_;  // of the turn before
};

}  // namespace wg::bench
