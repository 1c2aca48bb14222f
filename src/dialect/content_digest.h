// A 128-bit running digest of texts: two seeded XXH3 lanes, because the texts are long and the result is hashed again
// with the tenant's scope before it means anything. Order matters; stable across restarts.
#pragma once

#include <string_view>

#include "core/hash.h"
#include "core/ids.h"

namespace wg::dialect {

class ContentDigest {
 public:
  ContentDigest& add(std::string_view text) {
    value_.high = mix(value_.high, xxh3(text, 0x7761726D67617465));
    value_.low = mix(value_.low, xxh3(text, 0x6469616C65637473));
    return *this;
  }
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
