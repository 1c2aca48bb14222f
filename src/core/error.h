// How a failure travels: Result<T> on the data path, exceptions only at start-up and in config.
// An Error says which side is at fault, what was wrong and where, in words fit for the person who caused it.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace wg {

enum class Fault {
  client,    // the request is at fault: a 4xx
  upstream,  // an engine is at fault: may be retried elsewhere
  self,      // we are: a bug or a limit of this machine
  timeout,   // a deadline passed
  cancelled  // nobody wants the result any more
};

struct Error {
  Fault fault = Fault::self;
  std::string what;  // one sentence: what was wrong, where, what is allowed
  int status = 0;    // the HTTP status a client should see; 0: not decided here
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Fault fault, std::string what, int status = 0) {
  return tl::unexpected<Error>(Error{fault, std::move(what), status});
}

}  // namespace wg
