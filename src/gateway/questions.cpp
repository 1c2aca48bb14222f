#include "gateway/questions.h"

#include "core/assert.h"

namespace wg::gateway {

void OpenQuestions::answer(RequestId request, Decision decision) {
  const auto found = open_.find(request);
  if (found == open_.end()) {
    if (withdrawn_.contains(request)) return;
    return WG_BUG("a decision on a request that nobody asked about");
  }
  const QuestionPtr question = std::move(found->second);
  open_.erase(found);
  question->decision = std::move(decision);
  if (!question->self) return;
  question->home.post([question] {
    if (!question->gone) question->self.resume();
  });
}

void OpenQuestions::withdraw(RequestId request) {
  if (!open_.contains(request)) return;
  withdrawn_.insert(request);
  answer(request, {fleet::Reject{request, 503, 0, "the client has left", false}, "withdrawn"});
}

}  // namespace wg::gateway
