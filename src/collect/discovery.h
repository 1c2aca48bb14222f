// Reading an engine's answers to "what do you serve": /v1/models and, for llama.cpp, /props. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace wg::collect {

// The id to use out of a /v1/models answer: `wanted` if it is listed, else the first. Error: no such list, or empty.
Result<std::string> model_of(std::string_view models_body, std::string_view wanted);

// llama.cpp's number of slots out of /props; empty if it does not say.
std::optional<std::uint32_t> slots_of(std::string_view props_body);

}  // namespace wg::collect
