// Why a message is not taken, before anyone knows whose message it was. The request parser turns it into the client's
// fault with this status, the response parser into the engine's fault with 502. Internal to http/.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace wg::http {

struct Refusal {
  int status = 400;
  std::string what;
};

template <class T>
using Checked = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> refuse(int status, std::string what) {
  return tl::unexpected<Refusal>(Refusal{status, std::move(what)});
}

}  // namespace wg::http
