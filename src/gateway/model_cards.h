// GET /v1/models from the pools: their names and those aliases that are names rather than globs. Pure.
#pragma once

#include <string>
#include <string_view>

#include "dialect/api.h"
#include "gateway/directory.h"

namespace wg::gateway {

std::string model_cards(const Directory& directory, dialect::Shape shape);
// One card, or empty if no pool answers to that name.
std::string model_card(const Directory& directory, dialect::Shape shape, std::string_view model);

}  // namespace wg::gateway
