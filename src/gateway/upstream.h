// An engine's answer as far as it has been read: its head, and the decoded bytes of its body that were held back. Made
// once and used again by later requests of the loop, since its buffers are what costs.
#pragma once

#include <string_view>

#include "core/bytes.h"
#include "core/ids.h"
#include "http/h1.h"
#include "net/stream.h"

namespace wg::gateway {

struct Upstream {
  net::Stream stream;
  http::ResponseParser parser{http::answer_limits};
  Bytes buffer;               // what one read brought
  std::string_view unparsed;  // the rest of it
  Bytes held;                 // body bytes read but not passed on
  EngineIndex engine = 0;
  bool reused = false;     // a kept connection: it may have been closed under us
  bool complete = false;   // the whole message was read
  bool is_stream = false;  // SSE that we look into
  bool torn = false;       // the request was not sent to its end: not to be used again

  // As new, with its connection closed; keeps its buffers unless they have grown large.
  void clear();
};

}  // namespace wg::gateway
