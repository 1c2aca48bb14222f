// One written value against its key's kind and range. Pure; any thread.
#pragma once

#include <string>

#include "config/keys.h"
#include "core/error.h"

namespace wg::config {

// Error: what is wrong and what is allowed. A text that may hold a secret is not repeated.
Result<Value> read_scalar(const Key& key, const std::string& text);

}  // namespace wg::config
