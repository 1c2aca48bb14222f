// Is there more than one YAML document in a text? Never reads a third: the library's own LoadAll finds documents
// without end in a text like "\n,". Start-up only; throws the library's exceptions.
#pragma once

#include <optional>
#include <string>

#include "config/reading.h"

namespace wg::config {

std::optional<Position> second_document(const std::string& yaml);

}  // namespace wg::config
