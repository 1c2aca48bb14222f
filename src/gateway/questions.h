// Requests that have asked where to go and have not been told yet, and what they are told. A coroutine that asked may
// be destroyed while it waits: it shares its question with the brain. Invariants: each question is answered once;
// coroutines go on on their own loop. Owner: the brain's loop.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "fleet/events.h"
#include "net/loop.h"

namespace wg::gateway {

struct Decision {
  std::variant<fleet::Dispatch, fleet::Reject> command;
  const char* rule = "";
};

struct Question {
  net::Loop& home;
  const RequestId request;
  const fleet::Event event;
  std::coroutine_handle<> self;
  std::optional<Decision> decision;
  bool gone = false;  // the coroutine is; looked at on `home` only
};
using QuestionPtr = std::shared_ptr<Question>;

class OpenQuestions {
 public:
  void add(const QuestionPtr& question) { open_.emplace(question->request, question); }
  void answer(RequestId request, Decision decision);
  // Its client has left: it is told so, if it still waits, and what the fleet decides until it ends is for nobody.
  void withdraw(RequestId request);
  void ended(RequestId request) { withdrawn_.erase(request); }

 private:
  std::unordered_map<RequestId, QuestionPtr> open_;
  std::unordered_set<RequestId> withdrawn_;  // until the fleet has heard of their end
};

}  // namespace wg::gateway
