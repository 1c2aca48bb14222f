// Changes to a request body as splices: bytes that are not named stay what they were. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialect/body.h"

namespace wg::dialect {

struct Splice {
  std::size_t offset = 0, remove = 0;
  std::string insert;
};
using Splices = std::vector<Splice>;  // by offset, not overlapping

struct EditPlan {
  std::string_view model;          // the engine's name for it; empty: leave
  bool add_include_usage = false;  // only where the body streams and did not ask
  bool drop_billing_line = false;
};

Splices plan_edits(const BodyFacts& facts, const EditPlan& plan);

std::size_t edited_size(std::string_view body, const Splices& splices);
// The pieces to write, in order; they point into body and splices, which must outlive them.
std::vector<std::string_view> pieces(std::string_view body, const Splices& splices);

}  // namespace wg::dialect
