// The right to have a request in flight. Exactly one for each RequestArrived; when it goes, the request has ended.
// Owner: the exchange, on its loop.
#pragma once

#include <utility>

#include "gateway/brain.h"

namespace wg::gateway {

class Ticket {
 public:
  Ticket(Brain& brain, RequestId request) : brain_(&brain), request_(request) {}
  Ticket(Ticket&& other) noexcept
      : brain_(std::exchange(other.brain_, nullptr)), request_(other.request_), outcome_(other.outcome_) {}
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket() {
    if (brain_) brain_->tell(fleet::Finished{request_, outcome_});
  }
  void set_outcome(fleet::Outcome outcome) { outcome_ = outcome; }
  fleet::Outcome outcome() const { return outcome_; }

 private:
  Brain* brain_;
  RequestId request_;
  fleet::Outcome outcome_ = fleet::Outcome::failed;
};

}  // namespace wg::gateway
