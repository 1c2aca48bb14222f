// The admin API's answers: plain functions from a request to a status and a body. On the brain's loop.
#pragma once

#include <string>
#include <string_view>

#include "gateway/context.h"

namespace wg::console {

struct ApiAnswer {
  int status = 200;
  std::string type = "application/json", body;
};

ApiAnswer answer(gateway::Shared& shared, std::string_view method, std::string_view target, std::string_view body);

}  // namespace wg::console
