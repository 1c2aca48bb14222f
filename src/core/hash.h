// Hashes: SHA-256 for what must not be guessed or collide on purpose (session keys), XXH3 for tables and fingerprints
// of decisions. Both are stable across restarts and machines.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/ids.h"

namespace wg {

// SHA-256 over parts, each preceded by its length, so that ("ab","c") and ("a","bc") differ. Truncated to 128 bits.
class KeyHasher {
 public:
  KeyHasher();
  ~KeyHasher();
  KeyHasher(const KeyHasher&) = delete;
  KeyHasher& operator=(const KeyHasher&) = delete;

  KeyHasher& add(std::string_view part);
  SessionKey finish();  // once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t xxh3(std::string_view bytes, std::uint64_t seed = 0);
SessionKey xxh3_wide(std::string_view bytes);  // 128 bits; for texts too long for SHA-256

// Mixes one more value into a running 64-bit digest; order matters.
constexpr std::uint64_t mix(std::uint64_t digest, std::uint64_t value) {
  std::uint64_t x = digest ^ (value + 0x9E3779B97F4A7C15ull + (digest << 6) + (digest >> 2));
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace wg
