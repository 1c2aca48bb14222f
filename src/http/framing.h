// What the fields of a head say about framing and the connection. Anything that could be read in two ways is refused:
// docs/http-strictness.md. Pure. Internal to http/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/header.h"
#include "http/refusal.h"

namespace wg::http {

struct Framing {
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = true;
  bool upgrade = false;  // Connection lists it and there is an Upgrade field
  bool expects_continue = false;
  int hosts = 0;
  std::string_view host;
};

// minor: HTTP/1.minor of the message. The status of a refusal is the one for a request: 400, or 501 for a coding.
Checked<Framing> read_framing(Headers headers, int minor);

}  // namespace wg::http
