// How many bytes of made-up text a token is for a target's tokenizer: two prompts of different length are asked, and
// what the target reports of them is compared. Owner: one loop.
#pragma once

#include <cstdint>
#include <string>

#include "bench/caller.h"
#include "bench/target.h"

namespace wg::bench {

struct Calibration {
  double bytes_per_token = 4;
  bool measured = false;
  bool simulated = false;  // a `warmgate replica` answered
  std::string why;         // it is assumed, if it is
};

// From two prompts' bytes and reported tokens. Assumed where they make no sense: under half a byte a token, or over 50.
Calibration calibration_of(std::size_t short_bytes, std::int64_t short_tokens, std::size_t long_bytes,
                           std::int64_t long_tokens);

// `caller` must have been made for `target`. A target that does not answer is no error here: the load will show it.
net::Task<Calibration> calibrate(Caller& caller, const Target& target, std::uint64_t text);

}  // namespace wg::bench
