// A 128-bit running digest of texts: XXH3, because the texts are long and the result is hashed again with the tenant's
// scope before it means anything. Order matters; stable across restarts.
#pragma once

#include <string_view>

#include "core/hash.h"
#include "core/ids.h"

namespace wg::dialect {

class ContentDigest {
 public:
  ContentDigest& add(std::string_view text) { return add(xxh3_wide(text)); }
  ContentDigest& add(const SessionKey& digest) {
    value_.high = mix(value_.high, digest.high);
    value_.low = mix(value_.low, digest.low);
    return *this;
  }
  const SessionKey& value() const { return value_; }

 private:
  SessionKey value_;
};

}  // namespace wg::dialect
