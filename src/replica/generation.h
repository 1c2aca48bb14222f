// One request through the engine, without its waiting: how it is sent off, and what of it is there to be said. Internal
// to replica/. Owner: the request's coroutine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "replica/answers.h"
#include "replica/plan.h"
#include "replica/site.h"

namespace wg::replica {

struct Generation {
  Ask ask;
  Plan plan;
  SessionKey digest;
  std::optional<FaultOrder> own_fault;  // of the request's header
  std::optional<FaultHit> hit;
  std::unique_ptr<Flight> flight;
  std::unique_ptr<Answer> answer;
  std::string response_id;
  std::size_t bytes = 0;  // of the answer's text so far
  std::size_t tokens = 0;
  bool has_begun = false, has_tool = false;
  std::string text, arguments;  // said so far
};

// From the body to a flight.
Asked<void> send_off(Site& site, Connection& me, dialect::Api api, Generation& job);

// An answer's status, type and own headers.
Reply reply_of(const Site& site, const Generation& job, std::string_view type);

// The events of what has been generated since, of up to so many tokens; true: the stream is over.
bool produce(Site& site, Generation& job, std::size_t most_tokens, std::string& events);

// The body of an answer that is not streamed; its flight has ended, and not by the engine's death.
std::string whole_body(Site& site, Generation& job);

}  // namespace wg::replica
