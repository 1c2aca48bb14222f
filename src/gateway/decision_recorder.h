// Writes what the fleet sees and decides to a file, for `warmgate replay`. The brain's loop only makes the text; a
// thread of the queue's own writes it. Bounded: what does not fit is lost, and the gap in the events' numbers tells a
// replay where. Owner: the brain, on its loop.
#pragma once

#include <cstdint>
#include <string>

#include "fleet/fleet.h"
#include "record/line_queue.h"

namespace wg::gateway {

class DecisionRecorder {
 public:
  // A file that is there is begun anew. Throws std::runtime_error if it cannot be written.
  DecisionRecorder(const std::string& path, const fleet::Spec& spec);
  ~DecisionRecorder();  // the recording has its end then
  DecisionRecorder(const DecisionRecorder&) = delete;
  DecisionRecorder& operator=(const DecisionRecorder&) = delete;

  void stepped(const fleet::Event& event, TimePoint now, const fleet::Commands& commands, std::uint64_t digest);
  std::uint64_t lost() const { return queue_.lost(); }  // lines

 private:
  record::LineQueue queue_;
  std::string lines_;  // of one event
  std::uint64_t events_ = 0, digest_ = 0;
};

}  // namespace wg::gateway
