// Requests that came while no engine of their pool was up. They may be back by now, so they are looked at once more
// before anybody is refused, and the requests wait for what comes of it; not for long.
// Invariant: the timer runs while somebody waits. Owner: the brain's loop.
#pragma once

#include <functional>
#include <vector>

#include "gateway/questions.h"
#include "net/loop.h"

namespace wg::gateway {

class LateLook {
 public:
  // `too_long`: those that wait are to be taken, whatever was seen.
  LateLook(net::Loop& loop, std::function<void()> too_long) : timer_(loop, std::move(too_long)) {}

  void await(QuestionPtr question, PoolIndex pool, std::vector<EngineIndex> engines);
  // How many are up, by pool. Those whose engines have all been looked at, or one of which is up, wait no longer.
  std::vector<QuestionPtr> looked_at(EngineIndex engine, const std::vector<std::uint32_t>& engines_up);
  std::vector<QuestionPtr> take_all();
  QuestionPtr take(RequestId request);  // nullptr: it does not wait here

 private:
  struct Late {
    QuestionPtr question;
    PoolIndex pool;
    std::vector<EngineIndex> awaited;
  };
  std::vector<Late> late_;
  net::Timer timer_;
};

}  // namespace wg::gateway
