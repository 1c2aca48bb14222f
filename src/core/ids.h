// Names for things that decisions are about. All are values: cheap to copy, ordered, hashable.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

namespace wg {

// A session or lineage key: the first 128 bits of a SHA-256. The value that a client sent is never kept.
struct SessionKey {
  std::uint64_t high = 0, low = 0;

  constexpr auto operator<=>(const SessionKey&) const = default;
  constexpr explicit operator bool() const { return (high | low) != 0; }
  std::string short_hex() const;  // 12 hex digits, for logs and x-warmgate-session
};

using RequestId = std::uint64_t;  // unique in the life of the process, from 1 on
using PoolIndex = std::uint32_t;  // position in the configuration
using EngineIndex = std::uint32_t;

// Position in the fleet's table of replicas. Never reused for another replica in the life of the process.
using ReplicaIndex = std::uint32_t;
inline constexpr ReplicaIndex no_replica = ~ReplicaIndex{0};

}  // namespace wg

template <>
struct std::hash<wg::SessionKey> {
  std::size_t operator()(const wg::SessionKey& key) const noexcept {
    return key.high ^ (key.low * 0x9E3779B97F4A7C15ull);
  }
};
